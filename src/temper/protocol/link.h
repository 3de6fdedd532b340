// A connection over a network: a channel that notices when the other side is gone, or no longer hears.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "temper/protocol/channel.h"
#include "temper/support/cancellation.h"

namespace temper::protocol {

struct LinkOptions {
  double heartbeat_seconds = 2;  ///< between two signs of life
  double silence_seconds = 15;   ///< without one from the other side: the connection is lost
  double transfer_seconds = 15;  ///< for a message, and as long again as it takes at
  double least_bytes_per_second = 256.0 * 1024;
};

/// Both sides have one. Two threads of its own receive messages and send heartbeats, so that a connection that is cut,
/// half open, or whose other side does not read, is noticed whatever the user of the link does meanwhile. A message in
/// transfer counts as life; it is bounded by its own time limit. One message at a time may wait to be received: who
/// sends more without being asked loses the connection. Once lost, a link stays lost.
class Link {
 public:
  /// After the handshake. `work` is requested once the connection is lost, as `lost` is: for work that may have other
  /// reasons to stop as well.
  Link(Channel channel, LinkOptions options, CancellationToken work = {});
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  /// One thread at a time. Throws Error{InvalidArgument} when the message is too large, Error{Io} when the connection
  /// is lost, or is lost now because the other side does not take the message in time.
  void send(const Envelope& envelope);
  /// One thread at a time. Closed: the link is lost, and nothing more will come.
  Received receive(Envelope& envelope, Timeout timeout = {});

  /// Requested once the connection is lost.
  const CancellationToken& lost() const { return lost_; }
  /// In words; empty while it is not lost.
  std::string why_lost() const;
  /// Loses it.
  void cut(const std::string& why);

  /// What this side's heartbeats say, see Heartbeat; a change is said at once.
  void set_waiting(bool waiting);
  bool other_waits() const { return other_waits_; }

 private:
  void read();
  void beat(const std::stop_token& stop);

  LinkOptions options_;
  Channel channel_;
  CancellationToken lost_, work_;
  std::mutex send_mutex_;     ///< of the channel's sending half
  mutable std::mutex mutex_;  ///< of all below
  std::condition_variable_any changed_;
  std::optional<Envelope> inbox_;
  std::string why_lost_;
  double heard_ = 0;  ///< when, on the steady clock
  bool waiting_ = false, beat_now_ = false, receiving_ = false;
  std::atomic<bool> other_waits_ = false;
  std::jthread beater_;
  std::thread reader_;
};

}  // namespace temper::protocol
