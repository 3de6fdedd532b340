// A two-way stream of messages over a socket. A frame is: magic (4 bytes), length of the body (8 bytes), both
// little-endian, then the body, one serialised Envelope.
#pragma once

#include <cstdint>

#include "temper/protocol/messages.pb.h"
#include "temper/protocol/transfer.h"
#include "temper/support/unique_fd.h"

namespace temper::protocol {

/// Largest body that is sent or accepted.
inline constexpr std::int64_t kMaxMessageBytes = std::int64_t{1} << 30;

enum class Received {
  Message,
  Closed,    ///< the other side closed the stream, or died; also in the middle of a frame
  TimedOut,  ///< nothing began to arrive in time
};

/// Owns the socket. Movable. One thread sends and one receives at a time. Interrupted and partial transfers are
/// resumed.
class Channel {
 public:
  explicit Channel(UniqueFd socket, std::int64_t max_message_bytes = kMaxMessageBytes);

  int fd() const { return socket_.get(); }
  /// Holds from the next message on.
  void set_max_message_bytes(std::int64_t bytes) { max_message_bytes_ = bytes; }

  /// Throws Error{InvalidArgument} when the message is too large, Error{Io} when the other side is gone, Error{Busy}
  /// when it does not take the whole message in time (the channel is unusable then).
  void send(const Envelope& envelope, Timeout timeout = {});

  /// Waits until a message begins to arrive, then until all of it is there; the time limit holds for each of the two;
  /// the second one is 5 s at least, and longer by what the body takes at `least_bytes_per_second`, unless that is 0.
  /// Memory is taken as bytes arrive. Throws Error{Corrupt} for what is no frame, is too large or is no Envelope,
  /// Error{Busy} when a frame stops arriving.
  Received receive(Envelope& envelope, Timeout timeout = {}, double least_bytes_per_second = 0);

 private:
  UniqueFd socket_;
  std::int64_t max_message_bytes_;
};

/// Two connected sockets, closed on exec. Throws Error{Io}.
struct SocketPair {
  UniqueFd first, second;
};
SocketPair make_socket_pair();

}  // namespace temper::protocol
