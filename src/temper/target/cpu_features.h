// What the processor says about itself, without any library: the part of detection that loading a tuned program needs.
#pragma once

#include <cpuid.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace temper::target {

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// Zeros when the processor does not have the leaf.
inline Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

/// Instruction-set extensions that processor and operating system offer, sorted; names as in LLVM.
std::vector<std::string> cpu_features();

/// Width in bytes of the vectors that an extension is about; 0: none, or a name that is not in the table.
int vector_bytes_of(std::string_view feature);

}  // namespace temper::target
