#include "temper/protocol/handshake.h"

#include <gtest/gtest.h>

#include <future>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

/// Both sides shake hands; what the first one learns or throws.
Peer shake(Versions first, Versions second) {
  SocketPair pair = make_socket_pair();
  Channel a(std::move(pair.first)), b(std::move(pair.second));
  std::future<void> other = std::async(std::launch::async, [&] {
    try {
      shake_hands(b, "runner", 5.0, second);
    } catch (const Error&) {
      // The first side is the one under test.
    }
  });
  return shake_hands(a, "tuner", 5.0, first);
}

TEST(Handshake, AgreesOnTheNewestCommonVersion) {
  EXPECT_EQ(shake({1, 1}, {1, 1}).version, 1u);
  EXPECT_EQ(shake({1, 3}, {2, 5}).version, 3u);
  EXPECT_EQ(shake({2, 7}, {1, 4}).version, 4u);
  EXPECT_EQ(shake(kVersions, kVersions).role, "runner");
  EXPECT_FALSE(shake(kVersions, kVersions).temper_version.empty());
}

TEST(Handshake, NamesBothRangesWhenThereIsNoCommonVersion) {
  for (const auto& [first, second] :
       {std::pair{Versions{1, 2}, Versions{3, 4}}, std::pair{Versions{5, 6}, Versions{3, 4}}}) {
    try {
      shake(first, second);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Version);
      EXPECT_NE(error.message().find("the runner speaks protocol version 3 to 4"), std::string::npos) << error.what();
    }
  }
}

TEST(Handshake, ExplainsSilenceAndNonsense) {
  SocketPair pair = make_socket_pair();
  Channel a(std::move(pair.first)), b(std::move(pair.second));
  const auto code = [&](Timeout timeout) {
    try {
      shake_hands(a, "tuner", timeout);
    } catch (const Error& error) {
      return error.code();
    }
    ADD_FAILURE() << "accepted";
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code(0.01), ErrorCode::Busy);
  Envelope other;
  other.mutable_set_task();
  b.send(other);
  EXPECT_EQ(code(1.0), ErrorCode::Corrupt);
  {
    const Channel gone = std::move(b);
  }
  EXPECT_EQ(code(1.0), ErrorCode::Io);
}

}  // namespace
}  // namespace temper::protocol
