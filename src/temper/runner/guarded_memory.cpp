#include "temper/runner/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "temper/runtime/memory.h"
#include "temper/support/error.h"

namespace temper::runner {
namespace {

/// 0xFFF5A5E7 is a NaN, and so is the f64 made of two of them.
constexpr std::array<unsigned char, 4> kPattern{0xE7, 0xA5, 0xF5, 0xFF};

std::int64_t page_bytes() { return sysconf(_SC_PAGESIZE); }

/// `begin` is a multiple of 4.
void fill(std::byte* begin, std::byte* end) {
  std::byte* at = begin;
  for (; end - at >= 4; at += 4) std::memcpy(at, kPattern.data(), kPattern.size());
  std::memcpy(at, kPattern.data(), static_cast<std::size_t>(end - at));
}

/// First byte of [begin, end) that is not the pattern, or `end`.
const std::byte* first_damage(const std::byte* begin, const std::byte* end) {
  while (begin != end && *begin == static_cast<std::byte>(kPattern[reinterpret_cast<std::uintptr_t>(begin) % 4]))
    ++begin;
  return begin;
}

}  // namespace

GuardedMemory::GuardedMemory(std::int64_t bytes) {
  TEMPER_CHECK(bytes >= 0, "a buffer has no negative size");
  const auto refuse = [&] {
    throw Error(ErrorCode::Io,
                "the system refused " + std::to_string(bytes) + " bytes of memory: " + std::strerror(errno));
  };
  errno = ENOMEM;
  if (bytes > INT64_MAX / 2) refuse();
  middle_bytes_ = runtime::align_up(std::max<std::int64_t>(bytes, 1), page_bytes());
  const auto size = static_cast<std::size_t>(middle_bytes_ + 2 * kGuardBytes);
  void* map = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) refuse();
  map_ = static_cast<std::byte*>(map);
  bytes_ = bytes;
  std::byte* begin = map_ + kGuardBytes;
  std::byte* end = begin + middle_bytes_;
  data_ = end - runtime::align_up(bytes);
  if (mprotect(begin, static_cast<std::size_t>(middle_bytes_), PROT_READ | PROT_WRITE) != 0) {
    const int error = errno;
    munmap(map_, size);
    map_ = nullptr;
    errno = error;
    refuse();
  }
  fill(begin, end);
}

GuardedMemory::~GuardedMemory() {
  if (map_ != nullptr) munmap(map_, static_cast<std::size_t>(middle_bytes_ + 2 * kGuardBytes));
}

void GuardedMemory::spoil() { fill(data_, data_ + bytes_); }
void spoil(std::span<std::byte> bytes) { fill(bytes.data(), bytes.data() + bytes.size()); }

void GuardedMemory::set_writable(bool writable) {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  if (mprotect(map_ + kGuardBytes, static_cast<std::size_t>(middle_bytes_), protection) != 0) {
    throw Error(ErrorCode::Io, std::string("cannot protect memory: ") + std::strerror(errno));
  }
}

std::optional<std::string> GuardedMemory::damage() const {
  const std::byte* begin = map_ + kGuardBytes;
  const std::byte* end = begin + middle_bytes_;
  if (const std::byte* found = first_damage(begin, data_); found != data_) {
    return std::to_string(data_ - found) + " bytes before its start";
  }
  if (const std::byte* found = first_damage(data_ + bytes_, end); found != end) {
    return std::to_string(found - (data_ + bytes_)) + " bytes behind its end";
  }
  return std::nullopt;
}

GuardedMemory::Zone GuardedMemory::before() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(map_);
  return {begin, begin + kGuardBytes};
}
GuardedMemory::Zone GuardedMemory::middle() const {
  const std::uintptr_t begin = before().end;
  return {begin, begin + static_cast<std::uintptr_t>(middle_bytes_)};
}
GuardedMemory::Zone GuardedMemory::behind() const {
  const std::uintptr_t begin = middle().end;
  return {begin, begin + kGuardBytes};
}

}  // namespace temper::runner
