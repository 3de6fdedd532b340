#include "temper/runtime/kernel_instance.h"

#include <algorithm>
#include <string>
#include <utility>

#include "temper/support/error.h"

namespace temper::runtime {

KernelInstance::KernelInstance(ArtifactImage image, ThreadPool& pool) : image_(std::move(image)), pool_(&pool) {
  const auto is_own = [](const temper_buffer& b) { return b.role == TEMPER_BLOB || b.role == TEMPER_WORKSPACE; };
  for (const temper_buffer& buffer : image_.buffers()) own_sizes_.push_back(is_own(buffer) ? buffer.bytes : 0);
  owned_ = BufferGroup(own_sizes_);
  use_owned();
  scratch_.reserve(pool.threads(), image_.scratch_bytes());
}

std::int64_t KernelInstance::own_bytes() const { return BufferGroup::bytes_for(own_sizes_); }

void KernelInstance::move_to(std::span<std::byte> memory) {
  owned_ = BufferGroup(own_sizes_, memory);
  use_owned();
}

void KernelInstance::use_owned() {
  buffers_.assign(owned_.size(), nullptr);
  for (std::size_t i = 0; i < owned_.size(); ++i) buffers_[i] = owned_[i].data();
  prepared_ = std::ranges::none_of(image_.buffers(), [](const temper_buffer& b) { return b.role == TEMPER_CONSTANT; });
  if (!image_.prepare().empty()) prepared_ = false;
}

void KernelInstance::bind(int role, std::span<const void* const> pointers) {
  const auto buffers = image_.buffers();
  const auto count = static_cast<std::size_t>(std::ranges::count(buffers, role, &temper_buffer::role));
  if (count != pointers.size()) {
    throw Error(ErrorCode::InvalidArgument, "the kernel takes " + std::to_string(count) +
                                                " pointers here, given were " + std::to_string(pointers.size()));
  }
  auto next = pointers.begin();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    // Kernels take `void*` for every role; the interface promises that inputs and constants are only read.
    if (buffers[i].role == role) buffers_[i] = const_cast<void*>(*next++);
  }
}

void KernelInstance::prepare(std::span<const void* const> constants) {
  bind(TEMPER_CONSTANT, constants);
  run_phases(image_.prepare(), buffers_.data(), *pool_, scratch_.pointers());
  prepared_ = true;
}

void KernelInstance::run(std::span<const void* const> inputs, std::span<void* const> outputs) {
  if (!prepared_) throw Error(ErrorCode::InvalidArgument, "the kernel's constants were not prepared");
  bind(TEMPER_INPUT, inputs);
  const std::vector<const void*> readable(outputs.begin(), outputs.end());
  bind(TEMPER_OUTPUT, readable);
  run_phases(image_.run(), buffers_.data(), *pool_, scratch_.pointers());
}

}  // namespace temper::runtime
