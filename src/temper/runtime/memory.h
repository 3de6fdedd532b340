// Memory for tensors: aligned, page-backed where large, and immutable shared bytes for artifacts and constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace temper::runtime {

/// Alignment, in bytes, of every buffer that has memory of its own (see target/artifact_abi.h).
inline constexpr std::size_t kAlignment = 64;

/// `bytes` rounded up to a multiple of `alignment`, a power of two.
constexpr std::int64_t align_up(std::int64_t bytes, std::int64_t alignment = kAlignment) {
  return (bytes + alignment - 1) & -alignment;
}

/// Owned memory, aligned to 64 bytes; from 2 MiB on it is aligned to 2 MiB and the kernel is advised to use huge pages.
/// Contents are zero. Movable, not copyable. An empty buffer has a null pointer.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  /// Throws Error{Io} when the system refuses that much memory.
  explicit AlignedBuffer(std::int64_t bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept { swap(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    AlignedBuffer(std::move(other)).swap(*this);
    return *this;
  }
  ~AlignedBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  std::span<std::byte> span() { return {data_, static_cast<std::size_t>(bytes_)}; }
  std::span<const std::byte> span() const { return {data_, static_cast<std::size_t>(bytes_)}; }

 private:
  void swap(AlignedBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
  }
  std::byte* data_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t mapped_bytes_ = 0;
};

/// Several buffers side by side in one piece of memory, each aligned to 64 bytes. From 128 KiB on the whole is on huge
/// pages, if the system grants them: few entries of the page table, and conflicts in the caches that do not depend on
/// which small pages the system happened to give (with those, equal kernels on data as large as a second-level cache
/// differ by 15% from one allocation to the next). Contents are zero. Movable, not copyable.
class BufferGroup {
 public:
  BufferGroup() = default;
  /// `bytes`: of each buffer; an empty one has a null pointer. Throws Error{Io} when the system refuses that much
  /// memory.
  explicit BufferGroup(std::span<const std::int64_t> bytes);
  /// The same side by side in memory that others keep alive. Requires as many bytes as `bytes_for` says, aligned to 64.
  BufferGroup(std::span<const std::int64_t> bytes, std::span<std::byte> memory);
  /// That the buffers and what lies between them take. Throws Error{Io} for more than an address space holds.
  static std::int64_t bytes_for(std::span<const std::int64_t> bytes);

  std::size_t size() const { return parts_.size(); }
  std::span<std::byte> operator[](std::size_t buffer) const { return parts_[buffer]; }
  /// Of all buffers together.
  std::int64_t bytes() const;

 private:
  AlignedBuffer memory_;
  std::vector<std::span<std::byte>> parts_;
};

/// Memory that kernels which are timed against each other use in turns, for what they prepare and for their workspace.
/// With memory of its own each would have its own luck with the caches: equal kernels that read 17 MB of prepared
/// weights differ by 15% from one allocation to the next.
class TurnMemory {
 public:
  /// A number for one more user.
  std::uint64_t enter() { return ++users_; }
  struct Turn {
    std::span<std::byte> memory;  ///< the same place at each turn of any user, unless more had to be had
    bool is_new = false;          ///< others had their turn meanwhile, or it is the user's first: contents are zero
  };
  /// Gives the memory to `user`, who asks for as much each time; all others lose what they had there. Throws Error{Io}
  /// when the system refuses that much memory.
  Turn take(std::uint64_t user, std::int64_t bytes);

 private:
  AlignedBuffer memory_;
  std::uint64_t users_ = 0;
  std::uint64_t last_ = 0;
};

/// Immutable bytes, aligned to 64, shared by copies: they own memory, or keep alive whatever they are a part of.
class Bytes {
 public:
  Bytes() = default;
  static Bytes copy_of(std::span<const std::byte> bytes);
  /// A view into memory that `owner` keeps alive. Requires `bytes` to be aligned to 64.
  static Bytes part_of(std::shared_ptr<const void> owner, std::span<const std::byte> bytes);

  std::span<const std::byte> span() const { return span_; }
  const std::byte* data() const { return span_.data(); }
  std::int64_t size() const { return static_cast<std::int64_t>(span_.size()); }
  /// True when the contents are equal.
  bool operator==(const Bytes& other) const;

 private:
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes) : owner_(std::move(owner)), span_(bytes) {}
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> span_;
};

}  // namespace temper::runtime
