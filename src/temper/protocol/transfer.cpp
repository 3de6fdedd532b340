#include "temper/protocol/transfer.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void io_error(const std::string& what) { throw Error(ErrorCode::Io, what + ": " + std::strerror(errno)); }

}  // namespace

Deadline::Deadline(Timeout timeout) {
  if (!timeout) return;
  end_ =
      SteadyClock::now() + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(*timeout));
}

int Deadline::milliseconds_left() const {
  if (!end_) return -1;
  const double left = std::chrono::duration<double, std::milli>(*end_ - SteadyClock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(std::min(std::ceil(left), 1e9));
}

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

}  // namespace temper::protocol
