#include "temper/runtime/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "temper/support/error.h"

namespace temper::runtime {
namespace {

TEST(AlignedBuffer, IsAlignedAndZeroAtEverySize) {
  for (const std::int64_t bytes : {1, 63, 64, 65, 4097, (2 << 20) - 1, 2 << 20, (2 << 20) + 1}) {
    AlignedBuffer buffer(bytes);
    const std::uintptr_t alignment = bytes >= (2 << 20) ? (2 << 20) : 64;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment, 0u) << bytes;
    EXPECT_EQ(buffer.bytes(), bytes);
    EXPECT_TRUE(std::ranges::all_of(buffer.span(), [](std::byte b) { return b == std::byte{0}; })) << bytes;
    std::ranges::fill(buffer.span(), std::byte{1});
  }
}

TEST(AlignedBuffer, MovesItsMemory) {
  AlignedBuffer first(100);
  const std::byte* data = first.data();
  AlignedBuffer second(std::move(first));
  EXPECT_EQ(second.data(), data);
  second = AlignedBuffer(4 << 20);
  EXPECT_EQ(second.bytes(), 4 << 20);
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
}

TEST(BufferGroup, PutsItsBuffersSideBySide) {
  for (const std::int64_t large : {100, 100'000, 3 << 20}) {
    const std::vector<std::int64_t> bytes{large, 0, 64, 1};
    const BufferGroup group(bytes);
    ASSERT_EQ(group.size(), 4u);
    EXPECT_EQ(group.bytes(), large + 65);
    EXPECT_EQ(group[1].data(), nullptr);
    for (const std::size_t i : {0u, 2u, 3u}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(group[i].data()) % kAlignment, 0u);
      EXPECT_EQ(static_cast<std::int64_t>(group[i].size()), bytes[i]);
      EXPECT_TRUE(std::ranges::all_of(group[i], [](std::byte b) { return b == std::byte{0}; })) << "or they overlap";
      std::ranges::fill(group[i], std::byte{1});
    }
    EXPECT_EQ(group[2].data() - group[0].data(), align_up(large));
  }
  EXPECT_EQ(BufferGroup().bytes(), 0);
  EXPECT_THROW(BufferGroup(std::vector<std::int64_t>{INT64_MAX / 8, INT64_MAX / 8, INT64_MAX / 8}), Error);
}

TEST(TurnMemory, GoesFromUserToUser) {
  TurnMemory turns;
  const std::uint64_t first = turns.enter(), second = turns.enter();
  TurnMemory::Turn turn = turns.take(first, 300 << 10);
  EXPECT_TRUE(turn.is_new);
  ASSERT_EQ(turn.memory.size(), 300u << 10);
  std::ranges::fill(turn.memory, std::byte{1});
  turn = turns.take(first, 300 << 10);
  EXPECT_FALSE(turn.is_new) << "nobody else was there";
  EXPECT_EQ(turn.memory.back(), std::byte{1});
  const std::byte* place = turn.memory.data();
  turn = turns.take(second, 100);
  EXPECT_TRUE(turn.is_new);
  EXPECT_EQ(turn.memory.data(), place);
  EXPECT_EQ(turn.memory.size(), 100u);
  EXPECT_EQ(turn.memory.back(), std::byte{0}) << "nothing is left of the others";
  turn = turns.take(first, 300 << 10);
  EXPECT_TRUE(turn.is_new) << "it has to be prepared again";
  EXPECT_EQ(turn.memory.back(), std::byte{0});
  turn = turns.take(second, 5 << 20);
  EXPECT_EQ(turn.memory.size(), 5u << 20) << "it grows";
  EXPECT_TRUE(turns.take(first, 0).is_new);
  EXPECT_FALSE(turns.take(first, 0).is_new);
  EXPECT_THROW(turns.take(second, std::int64_t{1} << 50), Error);
  EXPECT_TRUE(turns.take(first, 0).is_new) << "what it had went with the attempt";
}

TEST(AlignedBuffer, SaysThatTheSystemRefused) {
  try {
    AlignedBuffer buffer(std::int64_t{1} << 50);
    FAIL() << "no machine has that much memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_NE(error.message().find("1125899906842624 bytes"), std::string::npos) << error.what();
  }
}

TEST(Bytes, CompareByContentAndKeepTheirOwnerAlive) {
  const std::array<std::byte, 3> values{std::byte{1}, std::byte{2}, std::byte{3}};
  const Bytes first = Bytes::copy_of(values), second = Bytes::copy_of(values);
  EXPECT_EQ(first, second);
  EXPECT_NE(first.data(), second.data());
  EXPECT_FALSE(first == Bytes::copy_of(std::span(values).first(2)));
  auto owner = std::make_shared<AlignedBuffer>(64);
  const std::weak_ptr<AlignedBuffer> watch = owner;
  {
    const Bytes part = Bytes::part_of(owner, owner->span());
    owner.reset();
    EXPECT_FALSE(watch.expired());
  }
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace temper::runtime
