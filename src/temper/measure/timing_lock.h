// One lock for the whole machine, so that no tuner times while another one works.
#pragma once

#include <filesystem>
#include <optional>

#include "temper/support/cancellation.h"
#include "temper/support/unique_fd.h"

namespace temper::measure {

/// An advisory lock (flock) on a file that all tuners of a machine share. The system releases it when its holder dies.
/// Builds hold it together, timing holds it alone.
class TimingLock {
 public:
  enum class Mode { Build, Time };

  /// Held until destroyed. Movable.
  class Guard {
   public:
    Guard(Guard&& other) noexcept : lock_(other.lock_) { other.lock_ = nullptr; }
    Guard& operator=(Guard&&) = delete;
    ~Guard();

   private:
    friend class TimingLock;
    explicit Guard(TimingLock* lock) : lock_(lock) {}
    TimingLock* lock_;
  };

  /// Opens the file and makes it, for all users, when it is not there. Throws Error{Io} that names it.
  explicit TimingLock(const std::filesystem::path& file = default_file());
  /// `temper-timing.lock` in the system's temporary folder. Throws Error{Io} when that is not there.
  static std::filesystem::path default_file();

  /// Waits for the lock; nothing when `cancelled` was requested first. One guard at a time.
  std::optional<Guard> acquire(Mode mode, const CancellationToken& cancelled);

 private:
  UniqueFd file_;
  std::filesystem::path path_;
};

}  // namespace temper::measure
