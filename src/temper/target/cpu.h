// Target: what a kernel is generated for, as data. Found at run time (hwloc and the processor's own identification),
// carried as text to processes that build for it, and condensed into a fingerprint that says whose measurements a
// record holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace temper::target {

/// Vectors of elements up to this far apart are loaded with all that lies between, and shuffled: that costs less than a
/// gather.
inline constexpr std::int64_t kShortStride = 4;

struct Target {
  std::string vendor;             ///< as the processor says it: "AuthenticAMD", "GenuineIntel"
  std::string model_name;         ///< for people
  std::string microarchitecture;  ///< "zen5", "icelake-server", ...; "unknown" when the table does not have it
  int family = 0, model = 0, stepping = 0;
  std::vector<std::string>
      features;  ///< instruction-set extensions that processor and operating system offer, sorted; names as in LLVM
  int vector_bytes = 16;                                   ///< widest usable vector: 16, 32 (AVX2) or 64 (AVX-512)
  int vector_registers = 16;                               ///< 16, or 32 with AVX-512
  std::int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  ///< seen by one core; 0: there is none
  int l1d_ways = 0;                                        ///< 0: unknown
  int line_bytes = 64;
  int physical_cores = 1, logical_cpus = 1;  ///< that this process may use
  /// Measured on the machine, not detected; 0: not measured. Not part of the fingerprint.
  double peak_flops_per_second = 0;    ///< one core, f32, fused multiply-adds counted twice
  double memory_bytes_per_second = 0;  ///< one core, reads from main memory

  bool has(std::string_view feature) const;
  bool operator==(const Target&) const = default;
};

/// The machine this process runs on. Throws Error{Unsupported} when the hardware topology cannot be read.
Target detect();

/// The same machine used with vectors of at most `vector_bytes` (16, 32 or 64): extensions for wider ones are left out.
/// Throws Error{InvalidArgument} for another number.
Target limit_vector_bytes(const Target& target, int vector_bytes);

/// Short canonical text: equal exactly when code tuned for one target is tuned for the other. Cores and names are left
/// out.
std::string fingerprint(const Target& target);

/// One fact a line, `name value`; `parse_target` is its inverse.
std::string serialise(const Target& target);
/// Throws Error{InvalidArgument} that quotes the line at fault.
Target parse_target(std::string_view text);

}  // namespace temper::target
