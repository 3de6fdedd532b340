#include "temper/support/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

#include "temper/support/error.h"

namespace temper {
namespace {

TEST(Hash, ValuesAreStable) {
  // Golden values: they are stored in databases.
  EXPECT_EQ(to_hex(hash_text("")), "5e34988c8bbb3456");
  EXPECT_EQ(to_hex(hash_text("temper")), "6d8c6feeb8c3e102");
  EXPECT_EQ(to_hex(hash_text("a longer text than one word")), "113890b9d9bb674f");
}

TEST(Hash, BytesAndTextAgree) {
  const std::string text = "conv2d(n=1)";
  EXPECT_EQ(hash_text(text), hash_bytes(std::as_bytes(std::span(text.data(), text.size()))));
}

TEST(Hash, LengthOrderAndZerosMatter) {
  std::set<std::uint64_t> seen;
  for (std::size_t length = 0; length < 40; ++length) seen.insert(hash_text(std::string(length, '\0')));
  EXPECT_EQ(seen.size(), 40u);
  EXPECT_NE(hash_text("ab"), hash_text("ba"));
  EXPECT_NE(hash_combine(hash_combine(0, 1), 2), hash_combine(hash_combine(0, 2), 1));
}

TEST(Hash, OneBitChangesAboutHalfOfTheResult) {
  double changed = 0;
  for (int bit = 0; bit < 64; ++bit) changed += std::popcount(mix64(12345) ^ mix64(12345 ^ (std::uint64_t{1} << bit)));
  EXPECT_NEAR(changed / 64, 32, 4);
}

TEST(Hash, HexRoundTrips) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{0xDEADBEEF}, ~std::uint64_t{0}}) {
    EXPECT_EQ(to_hex(value).size(), 16u);
    EXPECT_EQ(parse_hex(to_hex(value)), value);
  }
  EXPECT_EQ(to_hex(0x1a), "000000000000001a");
  EXPECT_EQ(parse_hex("1A"), 0x1au);
  for (const char* bad : {"", "xyz", "12 ", "0x12", "-1", "11112222333344445"}) {
    EXPECT_THROW(parse_hex(bad), Error) << bad;
  }
}

}  // namespace
}  // namespace temper
