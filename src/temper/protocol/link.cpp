#include "temper/protocol/link.h"

#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <utility>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find('.') + 2);
  return text + " s";
}

}  // namespace

Link::Link(Channel channel, LinkOptions options, CancellationToken work)
    : options_(options), channel_(std::move(channel)), work_(std::move(work)), heard_(now_seconds()) {
  beater_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
  reader_ = std::thread([this] { read(); });
}

Link::~Link() {
  cut("closed");
  beater_.request_stop();
  reader_.join();
}

void Link::cut(const std::string& why) {
  {
    const std::scoped_lock lock(mutex_);
    if (lost_.requested()) return;
    why_lost_ = why;
    lost_.request();
    work_.request();
  }
  shutdown(channel_.fd(), SHUT_RDWR);  // wakes whoever sends or receives
  changed_.notify_all();
}

std::string Link::why_lost() const {
  const std::scoped_lock lock(mutex_);
  return why_lost_;
}

void Link::set_waiting(bool waiting) {
  {
    const std::scoped_lock lock(mutex_);
    beat_now_ = beat_now_ || waiting != waiting_;
    waiting_ = waiting;
  }
  changed_.notify_all();
}

void Link::send(const Envelope& envelope) {
  const std::scoped_lock lock(send_mutex_);
  try {
    if (lost_.requested()) throw Error(ErrorCode::Io, "the connection is lost");
    const auto bytes = static_cast<double>(envelope.ByteSizeLong());
    channel_.send(envelope, options_.transfer_seconds + bytes / options_.least_bytes_per_second);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::InvalidArgument) throw;
    cut(error.message());
    throw Error(ErrorCode::Io, why_lost());
  }
}

Received Link::receive(Envelope& envelope, Timeout timeout) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return inbox_.has_value() || lost_.requested(); };
  if (timeout) {
    changed_.wait_for(lock, std::chrono::duration<double>(*timeout), ready);
  } else {
    changed_.wait(lock, ready);
  }
  if (inbox_) {
    envelope = std::move(*inbox_);
    inbox_.reset();
    return Received::Message;
  }
  return lost_.requested() ? Received::Closed : Received::TimedOut;
}

void Link::read() {
  try {
    while (!lost_.requested()) {
      wait_for(channel_.fd(), POLLIN, Deadline({}));
      {
        const std::scoped_lock lock(mutex_);
        receiving_ = true;
      }
      Envelope envelope;
      const Received received = channel_.receive(envelope, options_.transfer_seconds, options_.least_bytes_per_second);
      if (received == Received::Closed) return cut("the other side closed the connection");
      const std::scoped_lock lock(mutex_);
      receiving_ = false;
      heard_ = now_seconds();
      if (received == Received::TimedOut) continue;
      if (envelope.has_heartbeat()) {
        other_waits_ = envelope.heartbeat().waiting();
        continue;
      }
      if (inbox_) break;
      inbox_ = std::move(envelope);
      changed_.notify_all();
    }
    cut("the other side sends messages that nobody asked for");
  } catch (const Error& error) {
    cut(error.message());
  }
}

void Link::beat(const std::stop_token& stop) {
  while (!stop.stop_requested() && !lost_.requested()) {
    Envelope envelope;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, std::chrono::duration<double>(options_.heartbeat_seconds),
                        [&] { return beat_now_ || lost_.requested(); });
      beat_now_ = false;
      envelope.mutable_heartbeat()->set_waiting(waiting_);
      if (!receiving_ && now_seconds() - heard_ > options_.silence_seconds) {
        lock.unlock();
        cut("nothing was heard from the other side for " + seconds_text(options_.silence_seconds));
        return;
      }
    }
    // A message that is being sent is a sign of life itself.
    const std::unique_lock sending(send_mutex_, std::try_to_lock);
    if (!sending.owns_lock() || lost_.requested()) continue;
    try {
      channel_.send(envelope, options_.silence_seconds);
    } catch (const Error& error) {
      cut(error.message());
    }
  }
}

}  // namespace temper::protocol
