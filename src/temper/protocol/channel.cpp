#include "temper/protocol/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

static_assert(std::endian::native == std::endian::little, "frame headers are sent as they lie in memory");

constexpr std::uint32_t kFrameMagic = 0x4d525054;  // "TPRM"
constexpr std::size_t kHeaderBytes = 12;

using SteadyClock = std::chrono::steady_clock;

/// A point in time to wait for, or none.
class Deadline {
 public:
  explicit Deadline(Timeout timeout) {
    if (timeout)
      end_ = SteadyClock::now() +
             std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(*timeout));
  }
  /// For `poll`: -1 without end, else at least 0, rounded up.
  int milliseconds_left() const {
    if (!end_) return -1;
    const double left = std::chrono::duration<double, std::milli>(*end_ - SteadyClock::now()).count();
    return left <= 0 ? 0 : static_cast<int>(std::min(std::ceil(left), 1e9));
  }

 private:
  std::optional<SteadyClock::time_point> end_;
};

[[noreturn]] void io_error(const std::string& what) { throw Error(ErrorCode::Io, what + ": " + std::strerror(errno)); }

/// False when the deadline passed first.
bool wait_for(int fd, short events, const Deadline& deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int count = poll(&entry, 1, deadline.milliseconds_left());
    if (count > 0) return true;
    if (count == 0) return false;
    if (errno != EINTR) io_error("cannot wait for a socket");
  }
}

void send_all(int fd, std::span<const char> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(fd, POLLOUT, deadline)) throw Error(ErrorCode::Busy, "the other process does not take a message");
    } else if (errno != EINTR) {
      io_error("cannot send to the other process");
    }
  }
}

/// Fills `bytes`; false when the stream ends before.
bool receive_all(int fd, std::span<char> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t received = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(received));
    } else if (received == 0 || errno == ECONNRESET) {
      return false;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(fd, POLLIN, deadline))
        throw Error(ErrorCode::Busy, "the other process stopped in the middle of a message");
    } else if (errno != EINTR) {
      io_error("cannot receive from the other process");
    }
  }
  return true;
}

}  // namespace

Channel::Channel(UniqueFd socket, std::int64_t max_message_bytes)
    : socket_(std::move(socket)), max_message_bytes_(max_message_bytes) {}

void Channel::send(const Envelope& envelope, Timeout timeout) {
  const std::size_t size = envelope.ByteSizeLong();
  if (size > static_cast<std::size_t>(max_message_bytes_)) {
    throw Error(ErrorCode::InvalidArgument, "a message of " + std::to_string(size) +
                                                " bytes is too large; the limit is " +
                                                std::to_string(max_message_bytes_));
  }
  std::string frame(kHeaderBytes, '\0');
  const std::uint64_t length = size;
  std::memcpy(frame.data(), &kFrameMagic, sizeof kFrameMagic);
  std::memcpy(frame.data() + sizeof kFrameMagic, &length, sizeof length);
  TEMPER_CHECK(envelope.AppendToString(&frame), "a message serialises");
  send_all(fd(), frame, Deadline(timeout));
}

Received Channel::receive(Envelope& envelope, Timeout timeout) {
  if (!wait_for(fd(), POLLIN, Deadline(timeout))) return Received::TimedOut;
  const Deadline deadline(timeout);
  std::array<char, kHeaderBytes> header;
  if (!receive_all(fd(), header, deadline)) return Received::Closed;
  std::uint32_t magic = 0;
  std::uint64_t length = 0;
  std::memcpy(&magic, header.data(), sizeof magic);
  std::memcpy(&length, header.data() + sizeof magic, sizeof length);
  if (magic != kFrameMagic) throw Error(ErrorCode::Corrupt, "the other process does not speak Temper's protocol");
  if (length > static_cast<std::uint64_t>(max_message_bytes_)) {
    throw Error(ErrorCode::Corrupt, "the other process announces a message of " + std::to_string(length) +
                                        " bytes; the limit is " + std::to_string(max_message_bytes_));
  }
  std::string body(length, '\0');
  if (!receive_all(fd(), body, deadline)) return Received::Closed;
  if (!envelope.ParseFromString(body)) throw Error(ErrorCode::Corrupt, "the other process sent a malformed message");
  return Received::Message;
}

SocketPair make_socket_pair() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) io_error("cannot make a pair of sockets");
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace temper::protocol
