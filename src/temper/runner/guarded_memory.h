// Memory in which an access outside of a buffer cannot go unnoticed: for checking runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace temper::runner {

/// Fills a buffer, whose start is a multiple of 4, with the pattern of `GuardedMemory`.
void spoil(std::span<std::byte> bytes);

/// One buffer between two inaccessible zones:
///
///     guard zone | fill | buffer | fill up to the next multiple of 64 | guard zone
///
/// The buffer starts at a multiple of 64 bytes and its last cache line ends at the guard zone. The fill holds a pattern
/// which is NaN as f32 and as f64: reading it spoils the result, writing to it is found by `damage`. Movable.
class GuardedMemory {
 public:
  /// Bytes of each guard zone: an access that misses its buffer by less than this is caught.
  static constexpr std::int64_t kGuardBytes = std::int64_t{1} << 20;

  GuardedMemory() = default;
  /// The buffer holds the pattern at first. Throws Error{Io} when the system refuses the memory.
  explicit GuardedMemory(std::int64_t bytes);
  GuardedMemory(GuardedMemory&& other) noexcept { swap(other); }
  GuardedMemory& operator=(GuardedMemory&& other) noexcept {
    GuardedMemory(std::move(other)).swap(*this);
    return *this;
  }
  ~GuardedMemory();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  std::span<const std::byte> span() const { return {data_, static_cast<std::size_t>(bytes_)}; }

  /// Fills the buffer with the pattern.
  void spoil();
  /// From now on writing to the buffer faults (or no longer does).
  void set_writable(bool writable);
  /// Where the fill was written to: "3 bytes before its start", "12 bytes behind its end"; nothing when it is intact.
  std::optional<std::string> damage() const;

  /// [begin, end) of the zone before, the accessible middle, and the zone behind.
  struct Zone {
    std::uintptr_t begin = 0, end = 0;
  };
  Zone before() const;
  Zone middle() const;
  Zone behind() const;

 private:
  void swap(GuardedMemory& other) noexcept {
    std::swap(map_, other.map_);
    std::swap(middle_bytes_, other.middle_bytes_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }
  std::byte* map_ = nullptr;
  std::int64_t middle_bytes_ = 0;  // of the accessible part, a multiple of the page
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace temper::runner
