// What tuning may spend: trials, time, or both. One for a call of `tune`, one more for each of its tasks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace temper::tune {

class Budget {
 public:
  Budget(std::optional<double> seconds, std::optional<std::int64_t> trials) : seconds_(seconds), trials_(trials) {}

  void spend_trial() { ++spent_; }
  std::int64_t spent_trials() const { return spent_; }
  /// Time that is put aside, for races: it counts as spent for everything else.
  void reserve(double seconds) { reserved_ = seconds; }

  /// Whether one more trial, which takes about `estimate` seconds, fits.
  bool allows_trial(double elapsed, double estimate = 0) const {
    if (trials_ && spent_ >= *trials_) return false;
    return !seconds_ || elapsed + estimate + reserved_ < *seconds_;
  }
  /// Whether `estimate` seconds fit into the time, the reserved part included.
  bool allows_seconds(double elapsed, double estimate) const { return !seconds_ || elapsed + estimate < *seconds_; }

  std::optional<std::int64_t> trials_left() const {
    if (!trials_) return std::nullopt;
    return std::max<std::int64_t>(0, *trials_ - spent_);
  }
  std::optional<double> seconds_left(double elapsed) const {
    if (!seconds_) return std::nullopt;
    return std::max(0.0, *seconds_ - elapsed);
  }
  /// Share that is spent, from 0 to 1: of the part that is further.
  double progress(double elapsed) const {
    double share = 0;
    if (trials_) share = *trials_ > 0 ? static_cast<double>(spent_) / static_cast<double>(*trials_) : 1;
    if (seconds_) share = std::max(share, *seconds_ > 0 ? (elapsed + reserved_) / *seconds_ : 1);
    return std::clamp(share, 0.0, 1.0);
  }

 private:
  std::optional<double> seconds_;
  std::optional<std::int64_t> trials_;
  std::int64_t spent_ = 0;
  double reserved_ = 0;
};

}  // namespace temper::tune
