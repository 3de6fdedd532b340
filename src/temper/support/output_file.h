// Files that commands write for the user: whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "temper/support/unique_fd.h"

namespace temper {

/// A file under a name of its own beside the target, which takes the target's place in `keep` and disappears without
/// it. A target that is a symbolic link stays one: what it points to is replaced. What is no regular file (a device, a
/// pipe) cannot be replaced and is written directly.
class OutputFile {
 public:
  /// `what` names the contents in messages: "the bundle". All functions throw Error{NotFound} when the folder does not
  /// exist and Error{Io} when the system refuses; both name the target and say how to mend it.
  OutputFile(std::filesystem::path target, std::string what);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  std::int64_t written() const noexcept { return written_; }  ///< bytes so far
  /// Puts the file in the target's place, once its bytes are on the disk.
  void keep();

 private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path target_;  ///< as it was given
  std::string what_;
  std::filesystem::path place_, partial_;  ///< both empty: the target is written directly
  UniqueFd file_;
  std::int64_t written_ = 0;
};

/// Whether both paths lead to the same file; false when one of them is not there.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// Throws Error{InvalidArgument} when writing `output` would overwrite `input`, which the same command reads.
void refuse_overwriting(const std::filesystem::path& input, const std::filesystem::path& output);

}  // namespace temper
