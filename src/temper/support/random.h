// Seedable random streams whose numbers are the same on every platform, compiler and thread.
//
// The generator is xoshiro256** seeded through SplitMix64 (Blackman and Vigna, "Scrambled linear pseudorandom number
// generators", ACM TOMS 2021). The standard library's distributions differ between implementations, so every
// distribution here is defined by its own arithmetic.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace temper {

/// One step of SplitMix64: advances `state` and returns a well-mixed number.
std::uint64_t split_mix64(std::uint64_t& state);

/// A stream of random numbers. Copying it copies its position: both copies then give the same numbers.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed);

  /// A stream of its own for one purpose. It depends on this stream's seed and on `name`, not on how many numbers were
  /// drawn, so a new use of randomness in one place never shifts the numbers of another.
  RandomStream fork(std::string_view name) const;
  /// As `fork(name)`, for numbered things: chains, workers, repetitions.
  RandomStream fork(std::uint64_t number) const;

  /// 64 uniform bits.
  std::uint64_t next();
  /// Uniform in [0, bound), without bias. Requires bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [low, high], both ends included. Requires low <= high.
  std::int64_t uniform_int(std::int64_t low, std::int64_t high);
  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform_real();
  /// Uniform in [low, high).
  double uniform_real(double low, double high) { return low + (high - low) * uniform_real(); }
  /// True with the given probability; never for 0, always for 1.
  bool chance(double probability) { return uniform_real() < probability; }
  /// Normal with mean 0 and variance 1, as the sum of twelve uniform numbers less six: no library function whose last
  /// bit could differ between platforms is used; no value lies beyond 6.
  double approximately_normal();

  /// A uniformly chosen element. Requires a non-empty span.
  template <class T>
  const T& pick(std::span<const T> items) {
    return items[static_cast<std::size_t>(below(items.size()))];
  }
  template <class T>
  const T& pick(const std::vector<T>& items) {
    return pick(std::span<const T>(items));
  }
  /// Uniform permutation in place (Fisher-Yates).
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      using std::swap;
      swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
    }
  }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_;
};

}  // namespace temper
