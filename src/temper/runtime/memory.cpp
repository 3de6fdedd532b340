#include "temper/runtime/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "temper/support/error.h"

namespace temper::runtime {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;
/// A group of this many bytes is worth a huge page of its own.
constexpr std::int64_t kHugeGroup = std::int64_t{128} << 10;
/// Memory for turns above this is not kept for users who need far less.
constexpr std::int64_t kKept = std::int64_t{256} << 20;

[[noreturn]] void out_of_memory(std::int64_t bytes) {
  throw Error(ErrorCode::Io, "the system refused " + std::to_string(bytes) + " bytes of memory", {},
              "use a smaller model or batch, or a machine with more memory");
}

/// Maps `bytes` (a multiple of the huge page) at a multiple of the huge page.
std::byte* map_huge(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(bytes + kHugePage);
  if (bytes > INT64_MAX - kHugePage) return nullptr;
  void* base = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(base);
  const auto misaligned = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin) % kHugePage);
  const std::int64_t lead = misaligned == 0 ? 0 : kHugePage - misaligned;
  if (lead > 0) munmap(begin, static_cast<std::size_t>(lead));
  if (kHugePage - lead > 0) munmap(begin + lead + bytes, static_cast<std::size_t>(kHugePage - lead));
  madvise(begin + lead, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);  // advice: a refusal only costs speed
  return begin + lead;
}

AlignedBuffer group_memory(std::int64_t bytes) {
  return AlignedBuffer(bytes >= kHugeGroup ? align_up(bytes, kHugePage) : bytes);
}

}  // namespace

AlignedBuffer::AlignedBuffer(std::int64_t bytes) {
  TEMPER_CHECK(bytes >= 0, "a buffer has no negative size");
  if (bytes == 0) return;
  if (bytes > INT64_MAX / 2) out_of_memory(bytes);
  if (bytes >= kHugePage) {
    mapped_bytes_ = align_up(bytes, kHugePage);
    data_ = map_huge(mapped_bytes_);
    if (data_ == nullptr) out_of_memory(bytes);
  } else {
    const auto size = static_cast<std::size_t>(align_up(bytes));
    data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (data_ == nullptr) out_of_memory(bytes);
    std::memset(data_, 0, size);
  }
  bytes_ = bytes;
}

AlignedBuffer::~AlignedBuffer() {
  if (mapped_bytes_ > 0) {
    munmap(data_, static_cast<std::size_t>(mapped_bytes_));
  } else {
    std::free(data_);
  }
}

BufferGroup::BufferGroup(std::span<const std::int64_t> bytes) {
  AlignedBuffer memory = group_memory(bytes_for(bytes));
  *this = BufferGroup(bytes, memory.span());
  memory_ = std::move(memory);
}

BufferGroup::BufferGroup(std::span<const std::int64_t> bytes, std::span<std::byte> memory) {
  TEMPER_CHECK(bytes_for(bytes) <= static_cast<std::int64_t>(memory.size()), "the memory is too small for the buffers");
  std::byte* next = memory.data();
  parts_.reserve(bytes.size());
  for (const std::int64_t size : bytes) {
    parts_.emplace_back(size > 0 ? next : nullptr, static_cast<std::size_t>(size));
    next += align_up(size);
  }
}

std::int64_t BufferGroup::bytes_for(std::span<const std::int64_t> bytes) {
  std::int64_t total = 0;
  for (const std::int64_t size : bytes) {
    TEMPER_CHECK(size >= 0, "a buffer has no negative size");
    if (size > INT64_MAX / 4 - total) out_of_memory(size);
    total += align_up(size);
  }
  return total;
}

std::int64_t BufferGroup::bytes() const {
  std::int64_t sum = 0;
  for (const std::span<std::byte> part : parts_) sum += static_cast<std::int64_t>(part.size());
  return sum;
}

TurnMemory::Turn TurnMemory::take(std::uint64_t user, std::int64_t bytes) {
  const bool is_far_too_large = user != last_ && memory_.bytes() > kKept && memory_.bytes() > 2 * bytes;
  if (memory_.bytes() < bytes || is_far_too_large) {
    last_ = 0;                  // nobody's, even if there is no memory to be had
    memory_ = AlignedBuffer();  // never both
    memory_ = group_memory(bytes);
  }
  const bool is_new = user != last_;
  const std::span<std::byte> memory = memory_.span().first(static_cast<std::size_t>(bytes));
  if (is_new) std::ranges::fill(memory, std::byte{0});
  last_ = user;
  return {memory, is_new};
}

Bytes Bytes::copy_of(std::span<const std::byte> bytes) {
  auto buffer = std::make_shared<AlignedBuffer>(static_cast<std::int64_t>(bytes.size()));
  std::ranges::copy(bytes, buffer->data());
  const std::span<const std::byte> view = std::as_const(*buffer).span();
  return Bytes(std::move(buffer), view);
}

Bytes Bytes::part_of(std::shared_ptr<const void> owner, std::span<const std::byte> bytes) {
  TEMPER_CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment == 0, "shared bytes are aligned to 64");
  return Bytes(std::move(owner), bytes);
}

bool Bytes::operator==(const Bytes& other) const {
  return span_.size() == other.span_.size() &&
         (span_.data() == other.span_.data() || std::ranges::equal(span_, other.span_));
}

}  // namespace temper::runtime
