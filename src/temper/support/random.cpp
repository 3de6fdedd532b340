#include "temper/support/random.h"

#include <bit>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper {

std::uint64_t split_mix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  return mix64(state);
}

RandomStream::RandomStream(std::uint64_t seed) : seed_(seed), state_{} {
  std::uint64_t filler = seed;
  for (std::uint64_t& word : state_) word = split_mix64(filler);
}

RandomStream RandomStream::fork(std::string_view name) const {
  return RandomStream(hash_combine(seed_, hash_text(name)));
}

RandomStream RandomStream::fork(std::uint64_t number) const {
  // The extra constant keeps numbered and named sub-streams apart.
  return RandomStream(hash_combine(hash_combine(seed_, 0x6E756D626572ULL), number));
}

std::uint64_t RandomStream::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  TEMPER_CHECK(bound > 0, "a random number below zero was asked for");
  // Drops the lowest 2^64 mod bound values, so that the rest falls evenly into `bound` classes.
  const std::uint64_t dropped = (0 - bound) % bound;
  for (;;) {
    const std::uint64_t bits = next();
    if (bits >= dropped) return bits % bound;
  }
}

std::int64_t RandomStream::uniform_int(std::int64_t low, std::int64_t high) {
  TEMPER_CHECK(low <= high, "a random number from an empty range was asked for");
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = span == 0 ? next() : below(span);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

double RandomStream::uniform_real() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double RandomStream::approximately_normal() {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += uniform_real();
  return sum;
}

}  // namespace temper
