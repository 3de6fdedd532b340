// 64-bit hashes that are the same on every platform and in every process, so they may be stored and compared.
// They guard against accidents, not against an attacker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace temper {

/// A bijection of 64-bit words in which every input bit changes about half of the output bits (SplitMix64's finaliser).
constexpr std::uint64_t mix64(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}

/// Adds one more word to a running hash; the order of the words matters.
constexpr std::uint64_t hash_combine(std::uint64_t hash, std::uint64_t word) {
  return mix64(hash * 0x9E3779B97F4A7C15ULL + mix64(word + 0x632BE59BD9B4E019ULL) + 1);
}

/// Hash of a sequence of bytes; its length is part of it.
std::uint64_t hash_bytes(std::span<const std::byte> bytes);
/// Hash of the characters of `text`: equal to `hash_bytes` of the same bytes.
std::uint64_t hash_text(std::string_view text);

/// Sixteen lower-case hexadecimal digits.
std::string to_hex(std::uint64_t value);
/// Inverse of `to_hex`. Throws Error{InvalidArgument} unless `text` is 1 to 16 hexadecimal digits.
std::uint64_t parse_hex(std::string_view text);

}  // namespace temper
