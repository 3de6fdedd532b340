#include "temper/protocol/endpoint.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

constexpr std::string_view kUnix = "unix:", kTcp = "tcp://";
constexpr const char* kForms = "use unix:PATH or tcp://HOST:PORT";
constexpr const char* kLoopback = "127.0.0.1";
constexpr int kBacklog = 16;
constexpr std::chrono::milliseconds kNoRoomPause{20};

[[noreturn]] void io_error(const std::string& what, const Endpoint& endpoint, const std::string& hint = {}) {
  throw Error(ErrorCode::Io, what + ": " + std::strerror(errno), endpoint.text(), hint);
}

sockaddr_un unix_address(const Endpoint& endpoint) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (endpoint.path.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::InvalidArgument,
                "the path of a Unix socket has at most " + std::to_string(sizeof address.sun_path - 1) + " bytes",
                endpoint.text(), "use a shorter path");
  }
  std::memcpy(address.sun_path, endpoint.path.c_str(), endpoint.path.size() + 1);
  return address;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string host = endpoint.host.empty() ? kLoopback : endpoint.host;
  const int failure = getaddrinfo(host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(ErrorCode::Io, std::string("the host cannot be found: ") + gai_strerror(failure), endpoint.text(),
                "check its name, or give its address");
  }
  return {found, freeaddrinfo};
}

void set_option(int socket, int level, int option) {
  const int on = 1;
  setsockopt(socket, level, option, &on, sizeof on);
}

/// Connects within the deadline; the error number otherwise.
int connect_within(int socket, const sockaddr* address, socklen_t length, const Deadline& deadline) {
  if (connect(socket, address, length) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (!wait_for(socket, POLLOUT, deadline)) return ETIMEDOUT;
  int failure = 0;
  socklen_t size = sizeof failure;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &failure, &size) != 0) return errno;
  return failure;
}

[[noreturn]] void cannot_connect(int failure, const Endpoint& endpoint) {
  if (failure == ETIMEDOUT || failure == EAGAIN) {
    throw Error(ErrorCode::Busy, "the runner does not answer", endpoint.text(),
                "is its machine up, and does no firewall stand between?");
  }
  errno = failure;
  io_error("cannot reach the runner", endpoint, "start it there with temper runner --listen");
}

UniqueFd listen_unix(const Endpoint& endpoint) {
  const sockaddr_un address = unix_address(endpoint);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  struct stat status{};
  if (lstat(endpoint.path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) {
      throw Error(ErrorCode::InvalidArgument, "the file is there and is no socket", endpoint.path,
                  "give a path that is free");
    }
    const UniqueFd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (connect(probe.get(), generic, sizeof address) == 0 || errno == EAGAIN) {
      throw Error(ErrorCode::Busy, "somebody listens there already", endpoint.text(),
                  "stop the other runner, or give another path");
    }
    unlink(endpoint.path.c_str());
  }
  UniqueFd result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!result || bind(result.get(), generic, sizeof address) != 0)
    io_error("cannot listen", endpoint, "check the folder of the path");
  // Nobody can connect before `listen`, so nobody else comes in before the permissions are set.
  if (chmod(endpoint.path.c_str(), S_IRUSR | S_IWUSR) != 0 || listen(result.get(), kBacklog) != 0)
    io_error("cannot listen", endpoint);
  return result;
}

UniqueFd listen_tcp(Endpoint& endpoint) {
  const Addresses addresses = resolve(endpoint, AI_PASSIVE);
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    UniqueFd result(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!result) continue;
    set_option(result.get(), SOL_SOCKET, SO_REUSEADDR);
    if (bind(result.get(), a->ai_addr, a->ai_addrlen) != 0 || listen(result.get(), kBacklog) != 0) continue;
    sockaddr_storage bound{};
    socklen_t size = sizeof bound;
    if (getsockname(result.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) continue;
    endpoint.port = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                                      : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
    if (endpoint.host.empty()) endpoint.host = kLoopback;
    return result;
  }
  if (errno == EADDRINUSE) {
    throw Error(ErrorCode::Busy, "somebody listens there already", endpoint.text(),
                "stop the other runner, or give another port");
  }
  io_error("cannot listen", endpoint, "does this machine have that address?");
}

}  // namespace

std::string Endpoint::text() const {
  if (!is_tcp()) return std::string(kUnix) + path;
  const bool v6 = host.find(':') != std::string::npos;
  return std::string(kTcp) + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Endpoint parse_endpoint(const std::string& text) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::InvalidArgument, "'" + text + "' " + why, "address of a runner", kForms);
  };
  Endpoint endpoint;
  if (text.starts_with(kUnix)) {
    endpoint.path = text.substr(kUnix.size());
    if (endpoint.path.empty()) refuse("has no path");
    return endpoint;
  }
  if (!text.starts_with(kTcp)) refuse("is no address of a runner");
  const std::string rest = text.substr(kTcp.size());
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string::npos) refuse("has no port");
  endpoint.host = rest.substr(0, colon);
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']') && endpoint.host.size() > 2) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  } else if (endpoint.host.find_first_of("[]:/@ ") != std::string::npos) {
    refuse("has no such host");
  }
  const char *begin = rest.data() + colon + 1, *end = rest.data() + rest.size();
  const auto [stop, failure] = std::from_chars(begin, end, endpoint.port);
  if (failure != std::errc() || stop != end || endpoint.port < 0 || endpoint.port > 65535) refuse("has no such port");
  return endpoint;
}

UniqueFd connect_to(const Endpoint& endpoint, double seconds) {
  const Deadline deadline(seconds);
  if (!endpoint.is_tcp()) {
    const sockaddr_un address = unix_address(endpoint);
    UniqueFd result(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!result) io_error("cannot make a socket", endpoint);
    const int failure =
        connect_within(result.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address, deadline);
    if (failure != 0) cannot_connect(failure, endpoint);
    return result;
  }
  if (endpoint.host.empty() || endpoint.port == 0)
    throw Error(ErrorCode::InvalidArgument, "the address has no host or no port", endpoint.text(), kForms);
  const Addresses addresses = resolve(endpoint, 0);
  int failure = ECONNREFUSED;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    UniqueFd result(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!result) continue;
    failure = connect_within(result.get(), a->ai_addr, a->ai_addrlen, deadline);
    if (failure != 0) continue;
    set_option(result.get(), IPPROTO_TCP, TCP_NODELAY);
    return result;
  }
  cannot_connect(failure, endpoint);
}

Listener::Listener(const Endpoint& endpoint) : endpoint_(endpoint) {
  socket_ = endpoint_.is_tcp() ? listen_tcp(endpoint_) : listen_unix(endpoint_);
}

Listener::~Listener() {
  if (!endpoint_.is_tcp()) unlink(endpoint_.path.c_str());
}

std::optional<UniqueFd> Listener::accept(Timeout timeout) {
  if (!wait_for(socket_.get(), POLLIN, Deadline(timeout))) return std::nullopt;
  UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) {
    // It is gone already, or the system has no room for it now: then it stays there, and asking at once does not help.
    if (errno != ECONNABORTED && errno != EAGAIN) std::this_thread::sleep_for(kNoRoomPause);
    return std::nullopt;
  }
  if (endpoint_.is_tcp()) set_option(connection.get(), IPPROTO_TCP, TCP_NODELAY);
  return connection;
}

void close_after_last_words(int socket, double seconds) {
  shutdown(socket, SHUT_WR);
  const Deadline deadline(seconds);
  std::array<char, 4096> dropped{};
  while (wait_for(socket, POLLIN, deadline)) {
    if (recv(socket, dropped.data(), dropped.size(), MSG_DONTWAIT) <= 0) return;
    if (deadline.milliseconds_left() == 0) return;
  }
}

}  // namespace temper::protocol
