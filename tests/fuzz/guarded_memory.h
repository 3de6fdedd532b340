// Memory that ends at a page nobody may touch, so that an access past the end is a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace temper::fuzz {

/// 64-byte aligned bytes that end less than 64 bytes before a forbidden page and start after one. The gaps hold a
/// pattern; `intact` says whether it is still there.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;
  GuardedMemory& operator=(GuardedMemory&&) = delete;

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, size_}; }
  bool intact() const;

 private:
  std::byte* whole_ = nullptr;
  std::size_t whole_size_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Runs `action` and says whether it touched memory that it may not: 0, or the number of the signal. One thread at a
/// time.
int run_trapping_faults(void (*action)(void*), void* argument);

}  // namespace temper::fuzz
