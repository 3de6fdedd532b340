// A relay between a client and a server on Unix sockets, which can cut, stall and slow down what it carries.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "temper/protocol/endpoint.h"
#include "temper/protocol/transfer.h"
#include "temper/support/error.h"

namespace temper::testing {

/// Carries one connection after another, any number at once. Times are only waited for, never judged.
class Proxy {
 public:
  Proxy(const protocol::Endpoint& at, protocol::Endpoint to) : to_(std::move(to)), listener_(at) {
    acceptor_ = std::jthread([this](const std::stop_token& stop) { accept(stop); });
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() {
    acceptor_.request_stop();
    acceptor_.join();
    ending_ = true;
    for (std::jthread& carrier : carriers_) carrier.join();
  }

  const protocol::Endpoint& endpoint() const { return listener_.endpoint(); }
  /// Closes all connections of now, on both sides.
  void cut() { ++cuts_; }
  /// Connections of now stay open and carry nothing any more: neither side is told.
  void stall() { ++stalls_; }
  /// At most so many bytes in each direction every millisecond; 0: as they come.
  void slow_down(std::size_t bytes) { bytes_per_step_ = bytes; }
  /// New connections are closed at once.
  void refuse(bool refuse) { refuses_ = refuse; }
  /// Bytes that went to the server, of all connections.
  std::size_t carried() const { return carried_; }

 private:
  void accept(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::optional<UniqueFd> client = listener_.accept(0.01);
      if (!client || refuses_) continue;
      carriers_.emplace_back([this, cuts = cuts_.load(), stalls = stalls_.load(), fd = std::move(*client)] {
        carry(fd.get(), cuts, stalls);
      });
    }
  }

  void carry(int client, int cuts, int stalls) {
    UniqueFd server;
    try {
      server = protocol::connect_to(to_, 5);
    } catch (const Error&) {
      return;  // closes the client's
    }
    while (!ending_ && cuts_ == cuts) {
      if (stalls_ != stalls) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      if (!pass(client, server.get(), true) || !pass(server.get(), client, false)) return;
      if (bytes_per_step_ > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      } else {
        std::array<pollfd, 2> both{pollfd{client, POLLIN, 0}, pollfd{server.get(), POLLIN, 0}};
        poll(both.data(), both.size(), 2);
      }
    }
  }

  /// False when one of the two is closed.
  bool pass(int from, int to, bool to_server) {
    std::array<char, 65536> bytes{};
    const std::size_t step = bytes_per_step_ > 0 ? std::min<std::size_t>(bytes_per_step_, bytes.size()) : bytes.size();
    const ssize_t received = recv(from, bytes.data(), step, MSG_DONTWAIT);
    if (received == 0) return false;
    if (received < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    if (to_server) carried_ += static_cast<std::size_t>(received);
    try {
      protocol::send_all(to, std::span(bytes).first(static_cast<std::size_t>(received)), protocol::Deadline(5.0));
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  protocol::Endpoint to_;
  protocol::Listener listener_;
  std::atomic<int> cuts_ = 0, stalls_ = 0;
  std::atomic<std::size_t> bytes_per_step_ = 0, carried_ = 0;
  std::atomic<bool> refuses_ = false, ending_ = false;
  std::vector<std::jthread> carriers_;
  std::jthread acceptor_;
};

}  // namespace temper::testing
