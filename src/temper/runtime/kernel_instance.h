// One kernel ready to run: an artifact with its prepared blobs, workspace and scratch.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "temper/runtime/artifact_image.h"
#include "temper/runtime/thread_pool.h"

namespace temper::runtime {

/// Owns the image and its memory; borrows the pool, which must outlive it. One call at a time.
/// Every pointer given to it is aligned to 64 bytes and has the bytes that the artifact's buffer states.
class KernelInstance {
 public:
  KernelInstance(ArtifactImage image, ThreadPool& pool);

  const ArtifactImage& image() const { return image_; }

  /// Bytes of what the kernel owns: prepared constants and workspace.
  std::int64_t own_bytes() const;
  /// Has these in memory that others keep alive, instead of its own; `prepare` must follow. Requires `own_bytes()`
  /// bytes, aligned to 64.
  void move_to(std::span<std::byte> memory);

  /// Runs `prepare`. One pointer per CONSTANT buffer, in the artifact's order. Constants that `run` reads as well
  /// (`used_by_run`) must stay alive. Throws Error{InvalidArgument} for a wrong count.
  void prepare(std::span<const void* const> constants);

  /// One pointer per INPUT and per OUTPUT buffer, in the artifact's order. Throws Error{InvalidArgument} for a wrong
  /// count, and when the artifact has constants that were not given to `prepare`.
  void run(std::span<const void* const> inputs, std::span<void* const> outputs);

 private:
  void use_owned();
  void bind(int role, std::span<const void* const> pointers);

  ArtifactImage image_;
  ThreadPool* pool_;
  Scratch scratch_;
  std::vector<std::int64_t> own_sizes_;  ///< per buffer of the artifact; zero for those of others
  BufferGroup owned_;
  std::vector<void*> buffers_;
  bool prepared_ = false;
};

}  // namespace temper::runtime
