// Hand-written kernels for tests.
#pragma once

#include <string>
#include <vector>

#include "temper/lower/kernel.h"
#include "temper/lower/kernel_builder.h"

namespace temper::codegen {

inline int add_buffer(lower::Kernel& k, std::string name, lower::BufferRole role, ir::DType dtype,
                      std::int64_t elements) {
  k.arguments.push_back({name, role, dtype, elements * ir::bytes(dtype), true});
  k.buffers.push_back({name, role, dtype, elements, 0, static_cast<int>(k.arguments.size()) - 1, true});
  return static_cast<int>(k.buffers.size()) - 1;
}

inline lower::Phase& add_phase(lower::Kernel& k, std::string name, std::int64_t extent) {
  k.run.push_back({});
  lower::Phase& p = k.run.back();
  p.name = std::move(name);
  p.extent = extent;
  p.index = k.new_value({lower::Scalar::I64, 1});
  return p;
}

/// C[m,n] = A[m,k] * B packed [n/tile][k][tile], with a register tile of `rows` x `vectors` vectors. m must divide by
/// rows, n by the tile, k by `unroll`. Phase: one iteration for each block of columns.
inline lower::Kernel gemm(std::int64_t m, std::int64_t n, std::int64_t k, int rows, int vectors, int lanes,
                          int unroll) {
  using lower::KernelBuilder;
  using lower::Value;
  lower::Kernel kernel;
  const int a = add_buffer(kernel, "A", lower::BufferRole::Input, ir::DType::F32, m * k);
  const int b = add_buffer(kernel, "B", lower::BufferRole::Constant, ir::DType::F32, n * k);
  const int c = add_buffer(kernel, "C", lower::BufferRole::Output, ir::DType::F32, m * n);
  const std::int64_t tile = std::int64_t{vectors} * lanes;
  lower::Phase& phase = add_phase(kernel, "gemm", n / tile);
  KernelBuilder e(kernel, phase.body);
  const Value zero = e.const_int(0), zeros = e.const_float(0, {lower::Scalar::F32, lanes});
  e.for_loop(zero, e.const_int(m), rows, {},
             [&](KernelBuilder& outer, Value row, std::span<const Value>) -> std::vector<Value> {
               const Value a_row = outer.mul(row, outer.const_int(k));
               const Value b_block = outer.mul(phase.index, outer.const_int(k * tile));
               const std::vector<Value> sums = outer.for_loop(
                   outer.const_int(0), outer.const_int(k), unroll,
                   std::vector<Value>(static_cast<std::size_t>(rows * vectors), zeros),
                   [&](KernelBuilder& inner, Value step, std::span<const Value> carried) -> std::vector<Value> {
                     std::vector<Value> acc(carried.begin(), carried.end());
                     for (int u = 0; u < unroll; ++u) {
                       const Value kk = inner.add(step, inner.const_int(u));
                       std::vector<Value> columns;
                       for (int v = 0; v < vectors; ++v) {
                         const Value offset = inner.add(inner.add(b_block, inner.mul(kk, inner.const_int(tile))),
                                                        inner.const_int(v * lanes));
                         columns.push_back(inner.load(b, offset, lanes));
                       }
                       for (int r = 0; r < rows; ++r) {
                         const Value offset = inner.add(inner.add(a_row, inner.const_int(r * k)), kk);
                         const Value scalar = inner.broadcast(inner.load(a, offset, 1), lanes);
                         for (int v = 0; v < vectors; ++v) {
                           Value& sum = acc[static_cast<std::size_t>(r * vectors + v)];
                           sum = inner.fma(scalar, columns[static_cast<std::size_t>(v)], sum);
                         }
                       }
                     }
                     return acc;
                   });
               for (int r = 0; r < rows; ++r) {
                 for (int v = 0; v < vectors; ++v) {
                   const Value offset =
                       outer.add(outer.mul(outer.add(row, outer.const_int(r)), outer.const_int(n)),
                                 outer.add(outer.mul(phase.index, outer.const_int(tile)), outer.const_int(v * lanes)));
                   outer.store(c, offset, sums[static_cast<std::size_t>(r * vectors + v)]);
                 }
               }
               return {};
             });
  return kernel;
}

}  // namespace temper::codegen
