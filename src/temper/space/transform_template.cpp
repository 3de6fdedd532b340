#include "temper/space/transform_template.h"

#include <algorithm>

#include "temper/ir/visit.h"
#include "temper/space/knob_values.h"
#include "temper/space/structure.h"

namespace temper::space {

using schedule::Loop;
using schedule::Schedule;
using schedule::Scope;
using schedule::Tail;

namespace {

std::vector<ir::StagePtr> producers(const ir::Stage& stage) {
  std::vector<ir::StagePtr> out;
  for (const ir::Expr& load : loads_of(stage)) {
    if (std::find(out.begin(), out.end(), load->stage) == out.end()) out.push_back(load->stage);
  }
  return out;
}

bool is_plain(const ir::Stage& stage) {
  return stage.kind == ir::StageKind::Compute && !stage.is_reduction() && stage.dtypes.size() == 1;
}

/// The stages from `stage` down to a placeholder, each of which reads nothing but the next; empty when it is no chain.
std::vector<ir::StagePtr> chain_to_placeholder(ir::StagePtr stage) {
  std::vector<ir::StagePtr> out{stage};
  while (stage->kind == ir::StageKind::Compute) {
    const std::vector<ir::StagePtr> read = producers(*stage);
    if (!is_plain(*stage) || read.size() != 1) return {};
    stage = read[0];
    out.push_back(stage);
  }
  return out;
}

/// The axis of `stage` that an index names by itself, -1 for any other index.
int axis_of(const ir::Expr& index, const ir::Stage& stage) {
  for (std::size_t a = 0; a < stage.axes.size(); ++a) {
    if (is_axis(index, stage.axes[a])) return static_cast<int>(a);
  }
  return -1;
}

/// Divisor of floor(axis / divisor) and axis mod divisor in the indices of `stage`; 0: the axis is not tiled.
std::vector<std::int64_t> tiles_of(const ir::Stage& stage) {
  std::vector<std::int64_t> out(stage.axes.size(), 0);
  for (const ir::Expr& load : loads_of(stage)) {
    for (const ir::Expr& index : load->args) {
      ir::for_each_node(index, [&](const ir::Expr& e) {
        if (e->kind != ir::ExprKind::Binary || e->args[1]->kind != ir::ExprKind::Int) return;
        if (e->binary != ir::BinaryOp::FloorDiv && e->binary != ir::BinaryOp::Mod) return;
        const int axis = axis_of(e->args[0], stage);
        if (axis >= 0) out[static_cast<std::size_t>(axis)] = e->args[1]->int_value;
      });
    }
  }
  return out;
}

}  // namespace

std::optional<TransformedProduct> transformed_product(const ir::Compute& compute) {
  if (compute.outputs.size() != 1) return std::nullopt;
  TransformedProduct out;
  out.output = compute.outputs[0];
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind == ir::StageKind::Placeholder) continue;
    if (stage->dtypes.size() != 1) return std::nullopt;
    if (!stage->is_reduction()) continue;
    if (out.product) return std::nullopt;
    out.product = stage;
  }
  if (!out.product || out.product->axes.size() != 4 || out.product->reduce_axes.size() != 1 ||
      !out.product->where.empty() || !out.product->init.empty())
    return std::nullopt;
  // data[i,j,t,k] and filter[i,j,k,o], both computed.
  const ir::Stage& product = *out.product;
  const std::vector<ir::Expr> operands = loads_of(product);
  if (operands.size() != 2) return std::nullopt;
  const ir::Axis& k = product.reduce_axes[0];
  for (const ir::Expr& load : operands) {
    if (load->args.size() != 4 || !is_axis(load->args[0], product.axes[0]) || !is_axis(load->args[1], product.axes[1]))
      return std::nullopt;
    if (is_axis(load->args[2], product.axes[2]) && is_axis(load->args[3], k)) out.data = load->stage;
    if (is_axis(load->args[2], k) && is_axis(load->args[3], product.axes[3])) out.filter = load->stage;
  }
  if (!out.data || !out.filter || !is_plain(*out.data) || !is_plain(*out.filter)) return std::nullopt;
  const std::vector<ir::StagePtr> data = chain_to_placeholder(out.data), filter = chain_to_placeholder(out.filter);
  if (data.size() < 3 || filter.size() < 2 || !filter.back()->constant) return std::nullopt;
  out.source = data.back();
  for (std::size_t i = data.size() - 2; i > 0; --i) out.data_chain.push_back(data[i]->name);
  for (std::size_t i = filter.size() - 2; i > 0; --i) out.filter_chain.push_back(filter[i]->name);

  // From the product on: stages of the product's rank, then the result with its tiles, then element for element.
  std::vector<const ir::Stage*> after{out.product.get()};
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind == ir::StageKind::Placeholder || stage == out.product) continue;
    bool reads = false;
    for (const ir::Expr& load : loads_of(*stage)) {
      if (std::find(after.begin(), after.end(), load->stage.get()) == after.end()) continue;
      reads = true;
      if (!out.result) continue;
      for (std::size_t i = 0; i < load->args.size(); ++i) {
        if (load->stage->axes.size() != stage->axes.size() || !is_axis(load->args[i], stage->axes[i]))
          return std::nullopt;
      }
    }
    if (!reads) {
      const bool known = stage == out.data || stage == out.filter ||
                         std::count(out.data_chain.begin(), out.data_chain.end(), stage->name) > 0 ||
                         std::count(out.filter_chain.begin(), out.filter_chain.end(), stage->name) > 0;
      if (!known) out.elementwise.push_back(stage->name);
      continue;
    }
    after.push_back(stage.get());
    const std::vector<std::int64_t> tiles = tiles_of(*stage);
    if (!out.result && std::any_of(tiles.begin(), tiles.end(), [](std::int64_t t) { return t > 0; })) {
      out.result = stage;
      std::vector<std::size_t> tiled, others;
      for (std::size_t a = 0; a < tiles.size(); ++a) (tiles[a] > 0 ? tiled : others).push_back(a);
      if (tiles.size() != 4 || tiled.size() != 2 || tiles[tiled[0]] != tiles[tiled[1]] || others[0] != 0)
        return std::nullopt;
      out.tile = tiles[tiled[0]];
      out.row_axis = tiled[0];
      out.column_axis = tiled[1];
      out.channel_axis = others[1];
    } else if (!out.result) {
      out.result_chain.push_back(stage->name);
    }
    if (out.result && stage != out.output) out.elementwise.push_back(stage->name);
  }
  if (!out.result || out.output->axes.size() != 4) return std::nullopt;
  // The channels of the source: what its reader's last axis indexes.
  const ir::Stage& reader = *data[data.size() - 2];
  const std::vector<ir::Expr> reads = loads_of(reader);
  for (std::size_t i = 0; i < reads[0]->args.size(); ++i) {
    if (is_axis(reads[0]->args[i], reader.axes.back())) out.source_channel_axis = i;
  }
  return out;
}

namespace {

/// Vector widths: the target's, in elements of f32, and half of it where whole vectors leave lanes empty; not twice as
/// wide as needed.
std::vector<std::int64_t> widths(const target::Target& target, std::int64_t extent) {
  const std::int64_t native = target.vector_bytes / 4, half = native / 2;
  std::vector<std::int64_t> out;
  if (extent % native != 0 && half >= 4) out.push_back(half);
  if (native < 2 * extent || out.empty()) out.push_back(native);
  return out;
}

/// Sizes that cut the extent into equal blocks, each of which then has one body; where there are none but 1 and the
/// extent, two and four blocks that are nearly equal.
std::vector<std::int64_t> block_sizes(std::int64_t extent) {
  std::vector<std::int64_t> out;
  for (std::int64_t v = 1; v <= extent; ++v) {
    if (extent % v == 0) out.push_back(v);
  }
  if (out.size() < 3 && extent > 3) out = {1, (extent + 3) / 4, (extent + 1) / 2, extent};
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Keeps the box of `stage` that one iteration of `at` needs in registers, in vectors along `vector_axis`.
void in_registers(Schedule& s, const std::string& stage, Loop at, std::size_t vector_axis, std::int64_t vector) {
  s.compute_at(stage, at);
  s.set_scope(stage, Scope::Register);
  const std::vector<Loop> loops = s.loops(stage);
  const std::vector<Loop> parts = s.split(loops[vector_axis], {vector}, Tail::Mask);
  std::vector<Loop> order;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (i != vector_axis) order.push_back(loops[i]);
  }
  order.push_back(parts[0]);
  for (const Loop& loop : order) s.unroll(loop);
  order.push_back(parts[1]);
  s.reorder(order);
  s.vectorize(parts[1]);
}

/// The row-major layout with `axis` innermost and `pad` elements behind it.
std::vector<schedule::LayoutDim> innermost(std::size_t rank, std::size_t axis, std::int64_t pad) {
  std::vector<schedule::LayoutDim> out;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != axis) out.push_back({static_cast<int>(i), 1, 0, 0});
  }
  out.push_back({static_cast<int>(axis), 1, 0, pad});
  return out;
}

/// The parts that a candidate chooses.
struct Choice {
  std::int64_t vector, vectors, rows, unroll, block_rows, block_columns, block_vectors, input_vector, pad, whole;
};

/// The constants' transform, once, in blocks of the product's vectors.
void schedule_filter(Schedule& s, const TransformedProduct& p, const Choice& c) {
  for (const std::string& stage : p.filter_chain) s.compute_inline(stage);
  const std::string filter = p.filter->name;
  const std::int64_t panel = c.vectors * c.vector;
  s.set_layout(filter, {{0, 1, 0, 0}, {1, 1, 0, 0}, {3, panel, 0, 0}, {2, 1, 0, 0}, {3, 1, panel, 0}});
  s.prepared(filter);
  const std::vector<Loop> loops = s.loops(filter);
  const std::vector<Loop> parts = s.split(loops[3], {c.vector}, Tail::Mask);
  s.reorder({parts[0], loops[2], loops[0], loops[1], parts[1]});
  s.parallel(parts[0]);
  s.unroll(loops[0]);
  s.unroll(loops[1]);
  s.vectorize(parts[1]);
}

/// The product, in register tiles.
void schedule_product(Schedule& s, const TransformedProduct& p, const Choice& c, Loop block) {
  const std::string product = p.product->name;
  const std::string local = s.cache_write(product);
  s.compute_at(product, block);
  s.set_layout(product, innermost(4, 3, c.pad));
  const std::vector<Loop> loops = s.loops(product);
  const std::vector<Loop> tiles = s.split(loops[2], {c.rows}, Tail::Balance);
  const std::vector<Loop> lanes = s.split(loops[3], {c.vectors, c.vector}, Tail::Mask);
  s.reorder({loops[0], loops[1], lanes[0], tiles[0], tiles[1], lanes[1], lanes[2]});
  s.unroll(tiles[1]);
  s.unroll(lanes[1]);
  s.vectorize(lanes[2]);
  s.compute_at(local, tiles[0]);
  s.set_scope(local, Scope::Register);
  const std::vector<Loop> inner = s.loops(local);
  const std::vector<Loop> parts = s.split(inner[3], {c.vector}, Tail::RoundUp);
  const std::vector<Loop> terms = s.split(inner[4], {c.unroll}, Tail::Peel);
  s.reorder({terms[0], terms[1], inner[0], inner[1], inner[2], parts[0], parts[1]});
  for (const Loop& loop : {terms[1], inner[0], inner[1], inner[2], parts[0]}) s.unroll(loop);
  s.vectorize(parts[1]);
}

/// A copy of the source with its channels innermost; squares of it are turned in registers.
void turn_source(Schedule& s, const TransformedProduct& p, const Choice& c, Loop block) {
  const std::string& reader = p.data_chain.front();
  const std::string square = s.cache_read(p.source->name, reader), copy = s.cache_read(square, reader);
  const std::size_t channel = p.source_channel_axis, last = 3;
  s.set_layout(copy, innermost(4, channel, 0));
  if (c.whole == 0) s.compute_at(copy, block);
  const std::vector<Loop> loops = s.loops(copy);
  const std::vector<Loop> channels = s.split(loops[channel], {c.input_vector}, Tail::Mask);
  const std::vector<Loop> columns = s.split(loops[last], {c.input_vector}, Tail::Peel);
  std::vector<Loop> order;
  for (std::size_t i = 0; i < last; ++i) {
    if (i != channel) order.push_back(loops[i]);
  }
  const std::vector<Loop> outer = order;
  order.insert(order.end(), {channels[0], columns[0], columns[1], channels[1]});
  s.reorder(order);
  s.unroll(columns[1]);
  s.vectorize(channels[1]);
  if (c.whole == 1) s.parallel(s.fuse(outer));
  in_registers(s, square, columns[0], last, c.input_vector);
}

/// The data's transform, of a block or of everything.
void schedule_data(Schedule& s, const TransformedProduct& p, const Choice& c, Loop block) {
  const std::string data = p.data->name;
  if (c.whole == 0) s.compute_at(data, block);
  s.set_layout(data, innermost(4, 3, c.pad));
  const std::vector<Loop> loops = s.loops(data);
  const std::vector<Loop> lanes = s.split(loops[3], {c.input_vector}, Tail::Mask);
  s.reorder({loops[2], lanes[0], loops[0], loops[1], lanes[1]});
  if (c.whole == 1) s.parallel(loops[2]);
  s.unroll(loops[0]);
  s.unroll(loops[1]);
  s.vectorize(lanes[1]);
  for (const std::string& stage : p.data_chain) in_registers(s, stage, lanes[0], 3, c.input_vector);
  if (p.source_channel_axis != 3) turn_source(s, p, c, block);
}

/// The result, tile by tile, in vectors of channels. Returns the loop over blocks of channels and tiles.
Loop schedule_result(Schedule& s, const TransformedProduct& p, const Choice& c) {
  const std::string out = p.output->name;
  const bool turned = p.channel_axis != 3;
  for (const std::string& stage : p.elementwise) {
    if (!turned || stage != p.result->name) s.compute_inline(stage);
  }
  const std::string result = !turned ? out : p.result == p.output ? s.cache_write(out) : p.result->name;
  const std::vector<Loop> axes = s.loops(out);
  Loop block{};
  std::vector<Loop> y, x, o;
  if (!turned) {
    y = s.split(axes[p.row_axis], {c.block_rows, p.tile}, Tail::Peel);
    x = s.split(axes[p.column_axis], {c.block_columns, p.tile}, Tail::Peel);
    o = s.split(axes[p.channel_axis], {c.block_vectors, c.vector}, Tail::Mask);
    s.reorder({axes[p.image_axis], o[0], y[0], x[0], y[1], x[1], o[1], y[2], x[2], o[2]});
    block = s.fuse({axes[p.image_axis], o[0], y[0], x[0]});
    for (std::vector<Loop>* parts : {&y, &x, &o}) parts->erase(parts->begin());
  } else {
    // The output's own loops turn squares of the result, whose channels are innermost.
    const std::vector<Loop> rows = s.split(axes[p.row_axis], {c.block_rows * p.tile}, Tail::Peel);
    std::vector<Loop> columns = s.split(axes[p.column_axis], {c.block_columns * p.tile}, Tail::Peel);
    const std::vector<Loop> lanes = s.split(columns[1], {c.vector}, Tail::Mask);
    columns = {columns[0], lanes[0], lanes[1]};
    const std::vector<Loop> channels = s.split(axes[p.channel_axis], {c.block_vectors, c.vector}, Tail::Peel);
    s.reorder({axes[p.image_axis], channels[0], rows[0], columns[0], channels[1], rows[1], columns[1], channels[2],
               columns[2]});
    block = s.fuse({axes[p.image_axis], channels[0], rows[0], columns[0]});
    s.unroll(channels[2]);
    s.vectorize(columns[2]);
    const std::string square = s.cache_read(result, out);
    in_registers(s, square, columns[1], p.channel_axis, c.vector);
    s.compute_at(result, block);
    s.set_layout(result, innermost(4, p.channel_axis, c.pad));
    const std::vector<Loop> loops = s.loops(result);
    y = s.split(loops[p.row_axis], {p.tile}, Tail::Peel);
    x = s.split(loops[p.column_axis], {p.tile}, Tail::Peel);
    o = s.split(loops[p.channel_axis], {c.vector}, Tail::Mask);
    s.reorder({loops[p.image_axis], y[0], x[0], o[0], y[1], x[1], o[1]});
  }
  s.parallel(block);
  s.unroll(y[1]);
  s.unroll(x[1]);
  s.vectorize(o[1]);
  for (const std::string& stage : p.result_chain) in_registers(s, stage, o[0], 3, c.vector);
  return block;
}

}  // namespace

void apply_transformed(Schedule& s, Knobs& knobs, const target::Target& target, const TransformedProduct& p) {
  const auto extent = [](const ir::StagePtr& stage, std::size_t axis) { return stage->axes[axis].extent().value(); };
  const std::int64_t native = target.vector_bytes / 4, registers = target.vector_registers;
  const std::int64_t tile_rows = (extent(p.output, p.row_axis) + p.tile - 1) / p.tile;
  const std::int64_t tile_columns = (extent(p.output, p.column_axis) + p.tile - 1) / p.tile;
  const std::int64_t outputs = extent(p.product, 3), inner = p.product->reduce_axes[0].extent().value();

  Choice c{};
  c.vector = knobs.choice("vector", widths(target, outputs), native);
  c.vectors = knobs.choice("vectors", range_up_to((outputs + 3) / 4, 4), 2);
  c.rows = knobs.choice("rows", range_up_to(tile_rows * tile_columns, 28), 12);
  c.unroll = knobs.choice("unroll", {1, 2, 4}, 1);
  c.block_rows = knobs.choice("block_rows", block_sizes(tile_rows), 1);
  c.block_columns = knobs.choice("block_columns", block_sizes(tile_columns), 14);
  const std::int64_t channel_blocks = knobs.choice("channel_blocks", {1, 2, 4, 8, 16}, 1);
  c.input_vector = knobs.choice("input_vector", widths(target, inner), native);
  c.pad = knobs.choice("pad", {0, 16}, 16);
  c.whole = knobs.choice("whole", {0, 1}, 0);
  knobs.require("vectors cover the axis", {"vector", "vectors"},
                [outputs](auto k) { return (k[1] - 1) * k[0] < outputs; });
  knobs.require("register file", {"vectors", "rows"},
                [registers](auto k) { return k[0] * k[1] + k[0] + 1 <= registers; });
  knobs.require("block of whole rows", {"block_rows", "block_columns"},
                [tile_columns](auto k) { return k[0] == 1 || k[1] == tile_columns; });
  knobs.require("rows in a block", {"rows", "block_rows", "block_columns"}, [](auto k) { return k[0] <= k[1] * k[2]; });
  knobs.require("equal blocks of channels", {"channel_blocks", "vector", "vectors"},
                [outputs](auto k) { return k[0] == 1 || outputs % (k[0] * k[1] * k[2]) == 0; });
  knobs.require("the data's transform is not repeated", {"channel_blocks", "whole"},
                [](auto k) { return k[0] == 1 || k[1] == 1; });
  if (knobs.declaring()) return;

  c.block_vectors = (outputs + channel_blocks * c.vector - 1) / (channel_blocks * c.vector);
  const Loop block = schedule_result(s, p, c);
  schedule_filter(s, p, c);
  schedule_product(s, p, c, block);
  schedule_data(s, p, c, block);
}

}  // namespace temper::space
