#include "temper/target/cpu_features.h"

#include <algorithm>

namespace temper::target {
namespace {

/// Register state that the operating system saves (XCR0); 0 where it saves none.
std::uint64_t saved_state() {
  constexpr std::uint32_t kOsXsave = 1u << 27;
  if ((cpuid(1, 0).ecx & kOsXsave) == 0) return 0;
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

// States of XCR0 that a group of extensions needs.
constexpr std::uint64_t kNone = 0, kYmm = 0x6, kZmm = 0xe6, kTile = 0x60000;

struct Feature {
  const char* name;
  std::uint32_t leaf, subleaf;
  std::uint32_t Registers::* reg;
  int bit;
  std::uint64_t state;
  int vector_bytes;  ///< width of vectors it is about; 0: none
};
// Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E.
constexpr Feature kFeatures[] = {
    {"cx8", 1, 0, &Registers::edx, 8, kNone, 0},
    {"cmov", 1, 0, &Registers::edx, 15, kNone, 0},
    {"fxsr", 1, 0, &Registers::edx, 24, kNone, 0},
    {"sse", 1, 0, &Registers::edx, 25, kNone, 16},
    {"sse2", 1, 0, &Registers::edx, 26, kNone, 16},
    {"sse3", 1, 0, &Registers::ecx, 0, kNone, 16},
    {"ssse3", 1, 0, &Registers::ecx, 9, kNone, 16},
    {"fma", 1, 0, &Registers::ecx, 12, kYmm, 32},
    {"cx16", 1, 0, &Registers::ecx, 13, kNone, 0},
    {"sse4.1", 1, 0, &Registers::ecx, 19, kNone, 16},
    {"sse4.2", 1, 0, &Registers::ecx, 20, kNone, 16},
    {"movbe", 1, 0, &Registers::ecx, 22, kNone, 0},
    {"popcnt", 1, 0, &Registers::ecx, 23, kNone, 0},
    {"avx", 1, 0, &Registers::ecx, 28, kYmm, 32},
    {"f16c", 1, 0, &Registers::ecx, 29, kYmm, 32},
    {"bmi", 7, 0, &Registers::ebx, 3, kNone, 0},
    {"avx2", 7, 0, &Registers::ebx, 5, kYmm, 32},
    {"bmi2", 7, 0, &Registers::ebx, 8, kNone, 0},
    {"avx512f", 7, 0, &Registers::ebx, 16, kZmm, 64},
    {"avx512dq", 7, 0, &Registers::ebx, 17, kZmm, 64},
    {"avx512ifma", 7, 0, &Registers::ebx, 21, kZmm, 64},
    {"avx512cd", 7, 0, &Registers::ebx, 28, kZmm, 64},
    {"avx512bw", 7, 0, &Registers::ebx, 30, kZmm, 64},
    {"avx512vl", 7, 0, &Registers::ebx, 31, kZmm, 64},
    {"avx512vbmi", 7, 0, &Registers::ecx, 1, kZmm, 64},
    {"avx512vbmi2", 7, 0, &Registers::ecx, 6, kZmm, 64},
    {"gfni", 7, 0, &Registers::ecx, 8, kNone, 0},
    {"avx512vnni", 7, 0, &Registers::ecx, 11, kZmm, 64},
    {"avx512bitalg", 7, 0, &Registers::ecx, 12, kZmm, 64},
    {"avx512vpopcntdq", 7, 0, &Registers::ecx, 14, kZmm, 64},
    {"amx-bf16", 7, 0, &Registers::edx, 22, kTile, 64},
    {"avx512fp16", 7, 0, &Registers::edx, 23, kZmm, 64},
    {"amx-tile", 7, 0, &Registers::edx, 24, kTile, 64},
    {"amx-int8", 7, 0, &Registers::edx, 25, kTile, 64},
    {"avxvnni", 7, 1, &Registers::eax, 4, kYmm, 32},
    {"avx512bf16", 7, 1, &Registers::eax, 5, kZmm, 64},
    {"sahf", 0x80000001, 0, &Registers::ecx, 0, kNone, 0},
    {"lzcnt", 0x80000001, 0, &Registers::ecx, 5, kNone, 0},
    {"prfchw", 0x80000001, 0, &Registers::ecx, 8, kNone, 0},
};

}  // namespace

std::vector<std::string> cpu_features() {
  std::vector<std::string> features;
  const std::uint64_t state = saved_state();
  for (const Feature& f : kFeatures) {
    if ((cpuid(f.leaf, f.subleaf).*f.reg >> f.bit & 1u) != 0 && (state & f.state) == f.state)
      features.emplace_back(f.name);
  }
  std::sort(features.begin(), features.end());
  return features;
}

int vector_bytes_of(std::string_view feature) {
  for (const Feature& f : kFeatures) {
    if (feature == f.name) return f.vector_bytes;
  }
  return 0;
}

}  // namespace temper::target
