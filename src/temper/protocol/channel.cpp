#include "temper/protocol/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
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

/// A body grows by so much before its bytes are there: an announced length alone takes no memory.
constexpr std::size_t kGrowth = std::size_t{4} << 20;

/// Seconds for a message that has begun, at least: a short wait for one is for looking at something else in between,
/// and says nothing of a sender that lost its CPU in the middle.
constexpr double kWholeMessage = 5;

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

Received Channel::receive(Envelope& envelope, Timeout timeout, double least_bytes_per_second) {
  if (!wait_for(fd(), POLLIN, Deadline(timeout))) return Received::TimedOut;
  const Timeout rest = timeout ? std::max(*timeout, kWholeMessage) : timeout;
  Deadline deadline(rest);
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
  if (rest && least_bytes_per_second > 0)
    deadline = Deadline(*rest + static_cast<double>(length) / least_bytes_per_second);
  std::string body;
  while (body.size() < length) {
    const std::size_t before = body.size();
    body.resize(std::min<std::size_t>(length, before + std::max(before, kGrowth)));
    if (!receive_all(fd(), std::span(body).subspan(before), deadline)) return Received::Closed;
  }
  if (!envelope.ParseFromString(body)) throw Error(ErrorCode::Corrupt, "the other process sent a malformed message");
  return Received::Message;
}

SocketPair make_socket_pair() {
  std::array<int, 2> fds{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0)
    throw Error(ErrorCode::Io, std::string("cannot make a pair of sockets: ") + std::strerror(errno));
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

}  // namespace temper::protocol
