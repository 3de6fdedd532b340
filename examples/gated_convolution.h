// A convolution whose activation Temper has no name for, y = s*v*sigmoid(1.7*v) + (1-s)*v with a learned share s per
// channel, computed in one kernel: the definition is written with the public language, the template is the user's own.
#pragma once

#include <temper/temper.h>

namespace example {

using namespace temper;

struct ConvolutionShape {
  std::int64_t channels, size, filters, kernel, pad;
};

/// in[y,x,c], weight[f,c,kh,kw], bias[f], share[f] → out[y,x,f]
inline ir::Compute gated_convolution(const ConvolutionShape& s) {
  const ir::Tensor in = ir::placeholder("in", {s.size, s.size, s.channels});
  const ir::Tensor weight = ir::constant("weight", {s.filters, s.channels, s.kernel, s.kernel});
  const ir::Tensor bias = ir::constant("bias", {s.filters}), share = ir::constant("share", {s.filters});
  const ir::Axis c = ir::reduce("c", s.channels), kh = ir::reduce("kh", s.kernel), kw = ir::reduce("kw", s.kernel);
  const ir::Tensor conv = ir::define("conv", {s.size, s.size, s.filters},
                                     [&](ir::Axis y, ir::Axis x, ir::Axis f) {
                                       const ir::Expr iy = y + kh - s.pad, ix = x + kw - s.pad;
                                       return ir::sum(in(iy, ix, c) * weight(f, c, kh, kw), {kh, kw, c})
                                           .where(ir::in_range(iy, s.size) && ir::in_range(ix, s.size));
                                     },
                                     {"y", "x", "f"});
  const ir::Tensor out = ir::define("out", {s.size, s.size, s.filters},
                                    [&](ir::Axis y, ir::Axis x, ir::Axis f) {
                                      const ir::Expr v = conv(y, x, f) + bias(f), one = ir::Expr(1.0F);
                                      return share(f) * v * ir::sigmoid(ir::Expr(1.7F) * v) + (one - share(f)) * v;
                                    },
                                    {"y", "x", "f"});
  return ir::make_compute({out});
}

/// A tile of `pixels` x `vectors` vectors of channels in registers; the epilogue is computed where the tile is stored.
inline void gated_convolution_tiled(schedule::Schedule& s, space::Knobs& knobs, const target::Target& target) {
  using schedule::Tail;
  const std::int64_t lanes = target.vector_bytes / 4;
  const std::int64_t pixels = knobs.choice("pixels", {1, 2, 4, 7, 8, 14}, 7);
  const std::int64_t vectors = knobs.choice("vectors", {1, 2, 4}, 2);
  const std::int64_t filters_outside = knobs.choice("filters_outside", {0, 1}, 1);
  knobs.require("register file", {"pixels", "vectors"},
                [registers = target.vector_registers](auto v) { return v[0] * v[1] + v[1] + 1 <= registers; });
  if (knobs.declaring()) return;

  const std::string panels = s.cache_read("weight", "conv");  // [f / width][kh][c][kw][width], made once
  s.set_layout(panels,
               {{0, vectors * lanes, 0, 0}, {2, 1, 0, 0}, {1, 1, 0, 0}, {3, 1, 0, 0}, {0, 1, vectors * lanes, 0}});
  s.prepared(panels);

  const schedule::Loop y = s.loop("out", "y");
  const auto x = s.split(s.loop("out", "x"), {pixels}, Tail::Balance);
  const auto f = s.split(s.loop("out", "f"), {vectors, lanes}, Tail::Mask);
  if (filters_outside == 1)
    s.reorder({f[0], y, x[0], x[1], f[1], f[2]});
  else
    s.reorder({y, f[0], x[0], x[1], f[1], f[2]});
  s.unroll(x[1]);
  s.unroll(f[1]);
  s.vectorize(f[2]);
  s.compute_at("conv", x[0]);
  s.set_scope("conv", schedule::Scope::Register);

  const auto lane = s.split(s.loop("conv", "f"), {lanes}, Tail::RoundUp);
  const schedule::Loop row = s.loop("conv", "y"), pixel = s.loop("conv", "x");
  const schedule::Loop kh = s.loop("conv", "kh"), kw = s.loop("conv", "kw"), c = s.loop("conv", "c");
  s.reorder({kh, c, kw, row, pixel, lane[0], lane[1]});
  for (const schedule::Loop& loop : {kw, row, pixel, lane[0]}) s.unroll(loop);  // borders fold per pixel and kw
  s.vectorize(lane[1]);
}

}  // namespace example
