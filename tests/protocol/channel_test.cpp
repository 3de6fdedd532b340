#include "temper/protocol/channel.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

struct Ends {
  Channel first, second;
};

Ends connected(std::int64_t max_bytes = kMaxMessageBytes) {
  SocketPair pair = make_socket_pair();
  return {Channel(std::move(pair.first)), Channel(std::move(pair.second), max_bytes)};
}

Envelope build_request(std::size_t bytes) {
  Envelope envelope;
  envelope.mutable_build_request()->set_id(7);
  envelope.mutable_build_request()->set_compute(std::string(bytes, 'c'));
  return envelope;
}

/// What `receive` throws for raw bytes on the socket.
ErrorCode code_of(const std::string& raw, std::int64_t max_bytes = kMaxMessageBytes) {
  SocketPair pair = make_socket_pair();
  EXPECT_EQ(send(pair.first.get(), raw.data(), raw.size(), 0), static_cast<ssize_t>(raw.size()));
  Channel channel(std::move(pair.second), max_bytes);
  Envelope envelope;
  try {
    channel.receive(envelope, 0.05);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "accepted";
  return ErrorCode::Internal;
}

std::string frame(std::uint64_t length, const std::string& body) {
  std::string text = "TPRM" + std::string(8, '\0') + body;
  std::memcpy(text.data() + 4, &length, sizeof length);
  return text;
}

TEST(Channel, CarriesMessagesInOrder) {
  Ends ends = connected();
  ends.first.send(build_request(10));
  ends.first.send(build_request(0));
  Envelope envelope;
  ASSERT_EQ(ends.second.receive(envelope, 1.0), Received::Message);
  EXPECT_EQ(envelope.build_request().compute(), std::string(10, 'c'));
  EXPECT_EQ(envelope.build_request().id(), 7u);
  ASSERT_EQ(ends.second.receive(envelope, 1.0), Received::Message);
  EXPECT_TRUE(envelope.build_request().compute().empty());
}

TEST(Channel, ResumesPartialTransfersAndInterruptions) {
  // 8 MB do not fit into the socket's buffer, and a signal interrupts both sides again and again.
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  Ends ends = connected();
  const std::size_t bytes = 8 << 20;
  std::atomic<bool> done = false;
  std::thread sender([&] {
    ends.first.send(build_request(bytes), 60.0);
    while (!done) std::this_thread::yield();
  });
  std::thread pest([&, target = sender.native_handle(), self = pthread_self()] {
    while (!done) {
      pthread_kill(target, SIGUSR1);
      pthread_kill(self, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  Envelope envelope;
  EXPECT_EQ(ends.second.receive(envelope, 60.0), Received::Message);
  EXPECT_EQ(envelope.build_request().compute().size(), bytes);
  done = true;
  pest.join();
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Channel, TellsSilenceFromTheEnd) {
  Ends ends = connected();
  Envelope envelope;
  EXPECT_EQ(ends.second.receive(envelope, 0.01), Received::TimedOut);
  EXPECT_EQ(ends.second.receive(envelope, 0.0), Received::TimedOut);
  {
    const Channel gone = std::move(ends.first);
  }
  EXPECT_EQ(ends.second.receive(envelope), Received::Closed);
  try {
    ends.second.send(build_request(1));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
  }
}

TEST(Channel, EndsInTheMiddleOfAFrameAreTheEnd) {
  for (const std::string& raw : {frame(100, "abc"), std::string("TPRM\1")}) {
    SocketPair pair = make_socket_pair();
    ASSERT_EQ(send(pair.first.get(), raw.data(), raw.size(), 0), static_cast<ssize_t>(raw.size()));
    pair.first.reset();
    Channel channel(std::move(pair.second));
    Envelope envelope;
    EXPECT_EQ(channel.receive(envelope, 1.0), Received::Closed);
  }
}

TEST(Channel, RefusesWhatIsNoMessage) {
  EXPECT_EQ(code_of("GET / HTTP/1.1\r\n\r\n"), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(frame(~std::uint64_t{0}, "")), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(frame(4, "\xff\xff\xff\xff")), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(frame(100, "abc")), ErrorCode::Busy) << "the rest never comes";
}

TEST(Channel, BoundsTheSizeOnBothSides) {
  Ends ends = connected(1000);
  ends.first.send(build_request(2000));
  Envelope envelope;
  EXPECT_THROW(ends.second.receive(envelope, 1.0), Error);
  try {
    ends.second.send(build_request(2000));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(error.message().find("the limit is 1000"), std::string::npos) << error.what();
  }
}

TEST(Channel, SendingGivesUpWhenNobodyReads) {
  Ends ends = connected();
  try {
    ends.first.send(build_request(8 << 20), 0.02);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Busy);
  }
}

}  // namespace
}  // namespace temper::protocol
