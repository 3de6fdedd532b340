// Where a remote runner listens: a Unix socket or a TCP port.
#pragma once

#include <optional>
#include <string>

#include "temper/protocol/transfer.h"
#include "temper/support/unique_fd.h"

namespace temper::protocol {

struct Endpoint {
  std::string path;  ///< of a Unix socket; empty: TCP
  std::string host;  ///< name or address; empty: this machine alone (loopback)
  int port = 0;      ///< 0: one that is free; to listen only
  bool is_tcp() const { return path.empty(); }
  /// `unix:PATH`, `tcp://HOST:PORT`; an IPv6 address in brackets.
  std::string text() const;
};

/// Inverse of `Endpoint::text`; `tcp://:PORT` has no host. Throws Error{InvalidArgument} that quotes the text.
Endpoint parse_endpoint(const std::string& text);

/// A connected socket. Throws Error{Io} that names the endpoint when nobody listens there or the name is unknown,
/// Error{Busy} when there is no answer within `seconds`, Error{InvalidArgument} without host or port.
UniqueFd connect_to(const Endpoint& endpoint, double seconds);

/// A listening socket. A Unix socket's file is for its owner alone, and is removed at the end.
class Listener {
 public:
  /// A file that a process left behind is replaced. Throws Error{Busy} when somebody listens there already, Error{Io}
  /// when the system refuses, Error{InvalidArgument} when the path holds something else than a socket.
  explicit Listener(const Endpoint& endpoint);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  /// With the port that was found free.
  const Endpoint& endpoint() const { return endpoint_; }
  /// The next connection; nothing when none came in time, or it was gone again.
  std::optional<UniqueFd> accept(Timeout timeout);

 private:
  Endpoint endpoint_;
  UniqueFd socket_;
};

/// Closes a connection after a last message: what the other side has sent meanwhile is dropped unread, for at most
/// `seconds`, because a system that closes over unread bytes may drop that last message as well.
void close_after_last_words(int socket, double seconds);

}  // namespace temper::protocol
