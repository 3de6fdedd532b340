// The conversation with a peer's process: framed messages over a stream socket, the same for C++ and Python peers.
//
// A frame is, little endian: u32 magic "TPPR", u32 bytes of header, u64 bytes of payload, header, payload.
// The header is a JSON object; its member "tensors" lists {name, dtype, dims}, whose bytes follow each other in the
// payload.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "temper/peers/work.h"

namespace temper::peers {

struct Message {
  nlohmann::json header;
  std::vector<Tensor> tensors;
};

/// One end of the conversation; owns the file descriptor.
class Channel {
 public:
  explicit Channel(int fd) noexcept : fd_(fd) {}
  Channel(Channel&& other) noexcept;
  Channel& operator=(Channel&& other) noexcept;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  /// `timeout_seconds` bounds the whole transfer; negative waits without end.
  /// Throws Error{Io} when the other side has gone or the time is up; never raises SIGPIPE.
  void send(const Message& message, double timeout_seconds) const;
  /// Throws Error{Io} as above, Error{Corrupt} when the bytes are no message.
  Message receive(double timeout_seconds) const;
  int fd() const noexcept { return fd_; }

 private:
  int fd_ = -1;
};

nlohmann::json to_json(const PeerWork& work);
/// Throws Error{Corrupt}.
PeerWork work_from_json(const nlohmann::json& json);

}  // namespace temper::peers
