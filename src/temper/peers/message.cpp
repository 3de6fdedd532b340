#include "temper/peers/message.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "temper/support/error.h"

namespace temper::peers {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::uint32_t kMagic = 0x52505054;  // "TPPR"
constexpr std::uint32_t kMaxHeaderBytes = 16U << 20;
constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{8} << 30;

struct FrameHead {
  std::uint32_t magic;
  std::uint32_t header_bytes;
  std::uint64_t payload_bytes;
};
static_assert(sizeof(FrameHead) == 16);

[[noreturn]] void gone() { throw Error(ErrorCode::Io, "The peer's process has ended"); }
[[noreturn]] void corrupt(const std::string& what) {
  throw Error(ErrorCode::Corrupt, "A message from a peer's process is damaged: " + what);
}

/// When a transfer has to be done.
class Deadline {
 public:
  explicit Deadline(double seconds) : endless_(seconds < 0 || !std::isfinite(seconds)) {
    if (!endless_)
      end_ = SteadyClock::now() +
             std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  }
  /// Waits until `fd` is ready for `events` or hung up. Throws Error{Io} at the deadline.
  void wait(int fd, short events) const {
    while (true) {
      int milliseconds = -1;
      if (!endless_) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - SteadyClock::now()).count();
        milliseconds = static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
      }
      pollfd entry{fd, events, 0};
      const int ready = ::poll(&entry, 1, milliseconds);
      if (ready > 0) return;
      if (ready == 0) throw Error(ErrorCode::Io, "The peer's process did not answer in time");
      if (errno != EINTR) throw Error(ErrorCode::Io, std::string("poll: ") + std::strerror(errno));
    }
  }

 private:
  bool endless_;
  SteadyClock::time_point end_;
};

void write_all(int fd, const void* data, std::size_t size, const Deadline& deadline) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::send(fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written >= 0) {
      at += written;
      size -= static_cast<std::size_t>(written);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      deadline.wait(fd, POLLOUT);
    } else if (errno != EINTR) {
      gone();
    }
  }
}

void read_all(int fd, void* data, std::size_t size, const Deadline& deadline) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(fd, at, size, MSG_DONTWAIT);
    if (got > 0) {
      at += got;
      size -= static_cast<std::size_t>(got);
    } else if (got == 0) {
      gone();
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      deadline.wait(fd, POLLIN);
    } else if (errno != EINTR) {
      gone();
    }
  }
}

}  // namespace

Channel::Channel(Channel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Channel::~Channel() {
  if (fd_ >= 0) ::close(fd_);
}

void Channel::send(const Message& message, double timeout_seconds) const {
  const Deadline deadline(timeout_seconds);
  nlohmann::json header = message.header;
  FrameHead head{kMagic, 0, 0};
  header["tensors"] = nlohmann::json::array();
  for (const Tensor& tensor : message.tensors) {
    header["tensors"].push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"dims", tensor.dims}});
    head.payload_bytes += tensor.data.size();
  }
  const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  TEMPER_CHECK(text.size() <= kMaxHeaderBytes && head.payload_bytes <= kMaxPayloadBytes,
               "a message to a peer is too large");
  head.header_bytes = static_cast<std::uint32_t>(text.size());
  write_all(fd_, &head, sizeof head, deadline);
  write_all(fd_, text.data(), text.size(), deadline);
  for (const Tensor& tensor : message.tensors) write_all(fd_, tensor.data.data(), tensor.data.size(), deadline);
}

Message Channel::receive(double timeout_seconds) const {
  const Deadline deadline(timeout_seconds);
  FrameHead head{};
  read_all(fd_, &head, sizeof head, deadline);
  if (head.magic != kMagic) corrupt("wrong magic");
  if (head.header_bytes > kMaxHeaderBytes || head.payload_bytes > kMaxPayloadBytes) corrupt("absurd length");
  std::string text(head.header_bytes, '\0');
  read_all(fd_, text.data(), text.size(), deadline);
  Message message;
  std::uint64_t left = head.payload_bytes;
  try {
    message.header = nlohmann::json::parse(text);
    for (const auto& entry : message.header.at("tensors")) {
      Tensor tensor{entry.at("name"), entry.at("dtype"), entry.at("dims"), {}};
      std::uint64_t bytes = static_cast<std::uint64_t>(dtype_bytes(tensor.dtype));
      for (const std::int64_t dim : tensor.dims) {
        if (dim < 0 || (dim > 0 && bytes > left / static_cast<std::uint64_t>(dim)))
          corrupt("tensors exceed the payload");
        bytes *= static_cast<std::uint64_t>(dim);
      }
      if (bytes > left) corrupt("tensors exceed the payload");
      left -= bytes;
      tensor.data.resize(bytes);
      message.tensors.push_back(std::move(tensor));
    }
  } catch (const nlohmann::json::exception& error) {
    corrupt(error.what());
  }
  if (left != 0) corrupt("the payload exceeds its tensors");
  for (Tensor& tensor : message.tensors) read_all(fd_, tensor.data.data(), tensor.data.size(), deadline);
  return message;
}

nlohmann::json to_json(const PeerWork& work) {
  return {{"op", work.op},
          {"fields", work.fields},
          {"layout", to_string(work.layout)},
          {"epilogue", work.epilogue},
          {"constant_weights", work.constant_weights}};
}

PeerWork work_from_json(const nlohmann::json& json) {
  try {
    PeerWork work;
    work.op = json.at("op");
    work.fields = json.at("fields");
    work.layout = parse_layout(json.at("layout").get<std::string>());
    work.epilogue = json.at("epilogue").get<std::vector<std::string>>();
    work.constant_weights = json.at("constant_weights");
    return work;
  } catch (const nlohmann::json::exception& error) {
    corrupt(error.what());
  }
}

}  // namespace temper::peers
