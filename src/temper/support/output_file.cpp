#include "temper/support/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "temper/support/error.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel

struct Mending {
  int error;
  ErrorCode code;
  const char* hint;
};
constexpr std::array kMendings{
    Mending{ENOSPC, ErrorCode::Io, "free some space"},
    Mending{EDQUOT, ErrorCode::Io, "free some space"},
    Mending{ENOENT, ErrorCode::NotFound, "make its folder, or give another path"},
    Mending{ENOTDIR, ErrorCode::NotFound, "make its folder, or give another path"},
    Mending{ENAMETOOLONG, ErrorCode::Io, "give a shorter name"},
    Mending{EISDIR, ErrorCode::Io, "give the name of a file, not of a folder"},
};
constexpr Mending kOtherwise{0, ErrorCode::Io, "give a file in a folder that can be written"};

/// Where a chain of symbolic links ends, whether or not there is something.
fs::path end_of_links(fs::path path) {
  std::error_code ignored;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, ignored); ++i) {
    const fs::path next = fs::read_symlink(path, ignored);
    if (ignored) break;
    path = path.parent_path() / next;  // an absolute one replaces all
  }
  return path;
}

}  // namespace

OutputFile::OutputFile(fs::path target, std::string what) : target_(std::move(target)), what_(std::move(what)) {
  struct stat found{};
  const bool exists = stat(target_.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(found.st_mode)) {
    file_.reset(open(target_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_) fail(errno);
    return;
  }
  place_ = end_of_links(target_);
  if (place_.filename().empty()) fail(EISDIR);
  const std::string mark = ".new-" + std::to_string(gettid());  // unique among living threads
  const fs::path folder = place_.parent_path();
  fs::path name = place_.filename();
  // A name that is nearly as long as names may be leaves no room for the mark.
  partial_ = folder / (name.native().size() + mark.size() > 255 ? mark : name.native() + mark);
  if (name.native().size() > 255) {
    partial_.clear();
    fail(ENAMETOOLONG);
  }
  file_.reset(open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file_) {
    partial_.clear();
    fail(errno);
  }
  if (exists && fchmod(file_.get(), found.st_mode & 07777) != 0) fail(errno);
}

OutputFile::~OutputFile() {
  if (!partial_.empty()) unlink(partial_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    written_ += count;
  }
}

void OutputFile::keep() {
  if (partial_.empty()) return;
  if (fsync(file_.get()) != 0 || rename(partial_.c_str(), place_.c_str()) != 0) fail(errno);
  partial_.clear();
}

void OutputFile::fail(int error) const {
  const Mending* mending = &kOtherwise;
  for (const Mending& known : kMendings) mending = known.error == error ? &known : mending;
  if (!partial_.empty()) unlink(partial_.c_str());  // also when the constructor fails
  throw Error(mending->code, what_ + " cannot be written: " + std::generic_category().message(error), target_.string(),
              mending->hint);
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code missing;
  return fs::equivalent(a, b, missing) && !missing;
}

void refuse_overwriting(const fs::path& input, const fs::path& output) {
  if (!same_file(input, output)) return;
  throw Error(ErrorCode::InvalidArgument, "the output would overwrite the input " + input.string(), output.string(),
              "give another name for the output");
}

}  // namespace temper
