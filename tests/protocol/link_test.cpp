#include "temper/protocol/link.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "temper/protocol/error_reply.h"
#include "temper/support/error.h"

namespace temper::protocol {
namespace {

/// Quick to notice; long enough for a busy machine.
LinkOptions quick() {
  LinkOptions options;
  options.heartbeat_seconds = 0.02;
  options.silence_seconds = 0.5;
  options.transfer_seconds = 0.5;
  return options;
}

/// Nobody minds silence.
LinkOptions patient() {
  LinkOptions options;
  options.silence_seconds = 1000;
  options.transfer_seconds = 1000;
  return options;
}

Envelope message(std::uint64_t id, std::size_t bytes = 0) {
  Envelope envelope;
  envelope.mutable_build_request()->set_id(id);
  envelope.mutable_build_request()->set_compute(std::string(bytes, 'c'));
  return envelope;
}

TEST(Link, CarriesMessagesBothWays) {
  SocketPair pair = make_socket_pair();
  Link a{Channel(std::move(pair.first)), patient()}, b{Channel(std::move(pair.second)), patient()};
  Envelope got;
  EXPECT_EQ(a.receive(got, 0.01), Received::TimedOut);
  a.send(message(1, 1 << 20));
  ASSERT_EQ(b.receive(got), Received::Message);
  EXPECT_EQ(got.build_request().compute().size(), std::size_t{1} << 20);
  b.send(message(2));
  ASSERT_EQ(a.receive(got, 60.0), Received::Message);
  EXPECT_EQ(got.build_request().id(), 2U);
  EXPECT_TRUE(a.why_lost().empty());
}

TEST(Link, HeartbeatsKeepAnIdleConnection) {
  SocketPair pair = make_socket_pair();
  Link a{Channel(std::move(pair.first)), quick()}, b{Channel(std::move(pair.second)), quick()};
  std::this_thread::sleep_for(std::chrono::seconds(1));  // twice the silence that is allowed
  EXPECT_FALSE(a.lost().requested()) << a.why_lost();
  EXPECT_FALSE(b.lost().requested()) << b.why_lost();
}

TEST(Link, SilenceIsALostConnection) {
  SocketPair pair = make_socket_pair();
  const CancellationToken work;
  Link link(Channel(std::move(pair.first)), quick(), work);
  Envelope got;
  EXPECT_EQ(link.receive(got), Received::Closed);
  EXPECT_EQ(link.why_lost(), "nothing was heard from the other side for 0.5 s");
  EXPECT_TRUE(link.lost().requested());
  EXPECT_TRUE(work.requested()) << "what works for the other side stops";
  try {
    link.send(message(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
  }
}

TEST(Link, AClosedConnectionIsNoticedAtOnce) {
  SocketPair pair = make_socket_pair();
  Link link(Channel(std::move(pair.first)), patient());
  pair.second.reset();
  Envelope got;
  EXPECT_EQ(link.receive(got), Received::Closed);
  EXPECT_EQ(link.why_lost(), "the other side closed the connection");
}

TEST(Link, AMessageThatArrivedIsReceivedAlsoAfterTheEnd) {
  SocketPair pair = make_socket_pair();
  Link link(Channel(std::move(pair.first)), patient());
  {
    Channel other(std::move(pair.second));
    other.send(message(5));
  }
  while (!link.lost().requested()) std::this_thread::yield();
  Envelope got;
  ASSERT_EQ(link.receive(got), Received::Message);
  EXPECT_EQ(got.build_request().id(), 5U);
  EXPECT_EQ(link.receive(got), Received::Closed);
}

TEST(Link, WhoDoesNotReadLosesTheConnection) {
  SocketPair pair = make_socket_pair();
  LinkOptions options = patient();
  options.transfer_seconds = 0.05;
  options.least_bytes_per_second = 1e12;
  Link link(Channel(std::move(pair.first)), options);
  try {
    link.send(message(1, 8 << 20));
    FAIL() << "nobody has read it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
    EXPECT_NE(error.message().find("does not take a message"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(link.lost().requested());
}

TEST(Link, AMessageThatNeverEndsLosesTheConnection) {
  SocketPair pair = make_socket_pair();
  LinkOptions options = patient();
  options.transfer_seconds = 0.05;
  options.least_bytes_per_second = 1e12;
  Link link(Channel(std::move(pair.first)), options);
  const std::string begin("TPRM\xff\0\0\0\0\0\0\0", 12);
  send_all(pair.second.get(), begin, Deadline(5.0));
  Envelope got;
  EXPECT_EQ(link.receive(got), Received::Closed);
  EXPECT_NE(link.why_lost().find("stopped in the middle"), std::string::npos) << link.why_lost();
}

TEST(Link, GarbageAndTooLargeMessagesLoseTheConnection) {
  for (const std::string& raw : {std::string(100, 'g'), std::string("TPRM\xff\xff\xff\xff\xff\xff\xff\xff", 12)}) {
    SocketPair pair = make_socket_pair();
    Link link(Channel(std::move(pair.first)), patient());
    send_all(pair.second.get(), raw, Deadline(5.0));
    Envelope got;
    EXPECT_EQ(link.receive(got), Received::Closed);
    EXPECT_FALSE(link.why_lost().empty());
  }
}

TEST(Link, MessagesThatNobodyAskedForLoseTheConnection) {
  SocketPair pair = make_socket_pair();
  Link link(Channel(std::move(pair.first)), patient());
  Channel other(std::move(pair.second));
  for (std::uint64_t i = 0; i < 3; ++i) other.send(message(i), 5.0);
  while (!link.lost().requested()) std::this_thread::yield();
  EXPECT_EQ(link.why_lost(), "the other side sends messages that nobody asked for");
}

TEST(Link, SaysThatItWaits) {
  SocketPair pair = make_socket_pair();
  Link a{Channel(std::move(pair.first)), patient()}, b{Channel(std::move(pair.second)), patient()};
  EXPECT_FALSE(b.other_waits());
  a.set_waiting(true);
  while (!b.other_waits()) std::this_thread::yield();
  a.set_waiting(false);
  while (b.other_waits()) std::this_thread::yield();
}

TEST(ErrorReply, CarriesErrors) {
  const Error error(ErrorCode::Busy, "what", "where", "hint");
  const Error back = to_error(to_message(error));
  EXPECT_EQ(back.code(), ErrorCode::Busy);
  EXPECT_STREQ(back.what(), error.what());
  ErrorReply unknown = to_message(error);
  unknown.set_code("of_tomorrow");
  EXPECT_EQ(to_error(unknown).code(), ErrorCode::Io);
}

}  // namespace
}  // namespace temper::protocol
