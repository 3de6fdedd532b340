// Runs a kernel by the interpreter and as generated code, on the same memory, and compares every output element.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "codegen/loaded.h"
#include "temper/codegen/codegen.h"
#include "temper/lower/kernel.h"
#include "temper/lower/kernel_interpreter.h"
#include "temper/target/cpu.h"

namespace temper::codegen {

using Memory = std::vector<std::vector<std::byte>>;

/// Targets that this machine can run: its own, and the same with narrower vectors.
inline std::vector<target::Target> runnable_targets() {
  const target::Target own = target::detect();
  std::vector<target::Target> all{own};
  if (own.vector_bytes > 32) all.push_back(target::limit_vector_bytes(own, 32));
  return all;
}

template <class T>
T element(const std::vector<std::byte>& memory, std::int64_t i) {
  T value;
  std::memcpy(&value, memory.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

/// Equal values; any NaN equals any NaN, and -0 equals 0 (Min and Max do not say which they give).
inline bool equal(ir::DType dtype, const std::vector<std::byte>& a, const std::vector<std::byte>& b, std::int64_t i) {
  const auto same = [](auto x, auto y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  if (dtype == ir::DType::F32) return same(element<float>(a, i), element<float>(b, i));
  if (dtype == ir::DType::F64) return same(element<double>(a, i), element<double>(b, i));
  const auto size = static_cast<std::size_t>(ir::bytes(dtype));
  return std::memcmp(a.data() + static_cast<std::size_t>(i) * size, b.data() + static_cast<std::size_t>(i) * size,
                     size) == 0;
}
inline std::string show(ir::DType dtype, const std::vector<std::byte>& a, std::int64_t i) {
  switch (dtype) {
    case ir::DType::F32: return testing::PrintToString(element<float>(a, i));
    case ir::DType::F64: return testing::PrintToString(element<double>(a, i));
    case ir::DType::I32: return testing::PrintToString(element<std::int32_t>(a, i));
    case ir::DType::I64: return testing::PrintToString(element<std::int64_t>(a, i));
    default: return testing::PrintToString(static_cast<int>(element<std::int8_t>(a, i)));
  }
}

/// Runs compiled code on copies of `memory` placed at 64-byte boundaries.
inline Memory run_compiled(const lower::Kernel& kernel, const Artifact& artifact, const Memory& memory) {
  const Loaded loaded(artifact);
  std::vector<Aligned<std::byte>> copies;
  std::vector<void*> pointers;
  for (const auto& m : memory) {
    copies.emplace_back(m.size());
    std::copy(m.begin(), m.end(), copies.back().data());
    pointers.push_back(copies.back().data());
  }
  loaded.prepare(pointers);
  loaded.run(pointers);
  Memory out = memory;
  for (std::size_t i = 0; i < memory.size(); ++i) std::copy_n(copies[i].data(), memory[i].size(), out[i].begin());
  (void)kernel;
  return out;
}
inline Memory run_interpreted(const lower::Kernel& kernel, const Memory& memory) {
  Memory out = memory;
  lower::ArgumentMemory arguments;
  for (auto& m : out) arguments.emplace_back(m);
  lower::interpret_prepare(kernel, arguments);
  lower::interpret_run(kernel, arguments);
  return out;
}

/// Empty when both give the same; else the first difference. The kernel must have `memory.size()` arguments.
inline std::string difference(const lower::Kernel& kernel, Generator& generator, const Memory& memory) {
  lower::verify(kernel);
  CodegenOptions options;
  options.contract = false;  // the interpreter rounds every operation
  const Memory expected = run_interpreted(kernel, memory);
  const Memory actual = run_compiled(kernel, generator.generate(kernel, options).artifact, memory);
  for (std::size_t argument = 0; argument < memory.size(); ++argument) {
    const lower::Argument& a = kernel.arguments[argument];
    for (std::int64_t i = 0; i < a.bytes / ir::bytes(a.dtype); ++i) {
      if (equal(a.dtype, expected[argument], actual[argument], i)) continue;
      return a.name + '[' + std::to_string(i) + "] is " + show(a.dtype, actual[argument], i) + ", expected " +
             show(a.dtype, expected[argument], i) + "\n";
    }
  }
  return "";
}

}  // namespace temper::codegen
