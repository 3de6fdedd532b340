// A compiled kernel loaded from bytes: what is in it, and a way to run its phases.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "temper/support/unique_fd.h"
#include "temper/target/artifact_abi.h"

namespace temper::runtime {

/// Owns a loaded shared object; unloads it when destroyed. Movable. All views end with it.
class ArtifactImage {
 public:
  /// Loads the shared object in `bytes` through an anonymous in-memory file; nothing touches the disk.
  /// Throws Error{Corrupt} when it is no loadable artifact, Error{Version} for another interface version, Error{Io}
  /// when the system refuses memory or descriptors.
  static ArtifactImage load(std::span<const std::byte> bytes);
  ArtifactImage(ArtifactImage&& other) noexcept;
  ArtifactImage& operator=(ArtifactImage&& other) noexcept;
  ~ArtifactImage();

  std::span<const temper_buffer> buffers() const;
  std::span<const temper_phase> prepare() const;
  std::span<const temper_phase> run() const;
  /// Largest scratch of any phase, in bytes per thread.
  std::int64_t scratch_bytes() const;
  /// Number of the buffer of that name, or -1.
  int find_buffer(std::string_view name) const;

 private:
  ArtifactImage(UniqueFd file, void* handle, const temper_artifact* artifact)
      : file_(std::move(file)), handle_(handle), artifact_(artifact) {}
  UniqueFd file_;  // stays open: the loader knows images by path, so the number must not be used again meanwhile
  void* handle_ = nullptr;
  const temper_artifact* artifact_ = nullptr;
};

}  // namespace temper::runtime
