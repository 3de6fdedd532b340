#include "temper/support/hash.h"

#include "temper/support/error.h"

namespace temper {
namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::string_view kDigits = "0123456789abcdef";

/// Assembles up to eight bytes as a little-endian number, whatever the byte order of the machine.
template <class Byte>
std::uint64_t load(const Byte* bytes, std::size_t count) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

template <class Byte>
std::uint64_t hash_sequence(const Byte* bytes, std::size_t size) {
  std::uint64_t hash = mix64(size + 0x74656D706572ULL);
  std::size_t position = 0;
  for (; position + kWordBytes <= size; position += kWordBytes) {
    hash = hash_combine(hash, load(bytes + position, kWordBytes));
  }
  if (position < size) hash = hash_combine(hash, load(bytes + position, size - position));
  return hash;
}

}  // namespace

std::uint64_t hash_bytes(std::span<const std::byte> bytes) { return hash_sequence(bytes.data(), bytes.size()); }
std::uint64_t hash_text(std::string_view text) { return hash_sequence(text.data(), text.size()); }

std::string to_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = kDigits[(value >> (60 - 4 * i)) & 15];
  return text;
}

std::uint64_t parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  bool valid = !text.empty() && text.size() <= 16;
  for (const char character : text) {
    const char lower = character >= 'A' && character <= 'F' ? static_cast<char>(character - 'A' + 'a') : character;
    const std::size_t digit = kDigits.find(lower);
    valid = valid && digit != std::string_view::npos;
    value = value * 16 + digit;
  }
  if (!valid) {
    throw Error(ErrorCode::InvalidArgument, "not a hexadecimal number: '" + std::string(text) + "'", {},
                "give 1 to 16 of the digits 0-9 and a-f");
  }
  return value;
}

}  // namespace temper
