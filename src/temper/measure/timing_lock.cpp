#include "temper/measure/timing_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "temper/support/error.h"

namespace temper::measure {
namespace {

constexpr std::chrono::microseconds kFirstPause{200}, kLongestPause{5000};

constexpr const char* kHint = "set TMPDIR to a folder that all tuners of this machine may write to";

[[noreturn]] void io_error(const std::string& what, const std::filesystem::path& path) {
  throw Error(ErrorCode::Io, what + ": " + std::strerror(errno), path.string(), kHint);
}

}  // namespace

std::filesystem::path TimingLock::default_file() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) {
    const char* given = std::getenv("TMPDIR");
    throw Error(ErrorCode::Io, "the folder for temporary files cannot be used: " + error.message(),
                given != nullptr ? given : "/tmp", kHint);
  }
  return folder / "temper-timing.lock";
}

TimingLock::TimingLock(const std::filesystem::path& file) : path_(file) {
  // Not O_CREAT at first: in a shared folder the system may refuse it for a file that somebody else owns.
  file_.reset(open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file_ && errno == ENOENT) {
    file_.reset(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file_) fchmod(file_.get(), 0666);  // whatever the umask; a refusal means that it is somebody else's already
  }
  if (!file_ && errno == EACCES) file_.reset(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file_) io_error("cannot open the lock for timing", file);
}

std::optional<TimingLock::Guard> TimingLock::acquire(Mode mode, const CancellationToken& cancelled) {
  const int operation = (mode == Mode::Time ? LOCK_EX : LOCK_SH) | LOCK_NB;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    if (cancelled.requested()) return std::nullopt;
    if (flock(file_.get(), operation) == 0) return Guard(this);
    if (errno != EWOULDBLOCK && errno != EINTR) io_error("cannot take the lock for timing", path_);
    std::this_thread::sleep_for(pause);
  }
}

TimingLock::Guard::~Guard() {
  if (lock_ != nullptr) flock(lock_->file_.get(), LOCK_UN);
}

}  // namespace temper::measure
