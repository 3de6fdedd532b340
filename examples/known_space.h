// A space that stands in for a machine: three tile sizes under a limit of memory, and a formula for the time.
#pragma once

#include <temper/temper.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace example {

class KnownSpace : public temper::search::Space {
 public:
  KnownSpace() {
    temper::search::Design tiled;
    tiled.name = "tiled";
    for (const char* name : {"m", "n", "k"}) tiled.knobs.push_back({name, {1, 2, 4, 8, 16, 32, 64, 128}});
    tiled.constraints.push_back({"memory", {"m", "n", "k"}, [](std::span<const std::int64_t> tile) {
                                   return tile[0] * tile[2] + tile[2] * tile[1] + tile[0] * tile[1] <= 4096;
                                 }});
    designs_.push_back(tiled);
  }

  const std::vector<temper::search::Design>& designs() const override { return designs_; }

  /// Fastest around 16 x 32 x 8; tiles of one row do not run at all.
  temper::search::Outcome outcome(const temper::search::Candidate& candidate) const {
    const auto tile = [&](std::size_t knob) {
      return std::log2(
          static_cast<double>(designs_[0].knobs[knob].values[static_cast<std::size_t>(candidate.choice[knob])]));
    };
    const double away = std::pow(tile(0) - 4, 2) + std::pow(tile(1) - 5, 2) + 0.5 * std::pow(tile(2) - 3, 2);
    temper::search::Outcome result;
    result.ok = candidate.choice[0] > 0;
    result.seconds = 1e-3 * (1 + 0.2 * away);
    result.spent_seconds = 0.05 + (result.ok ? 10 * result.seconds : 0);
    return result;
  }

 private:
  std::vector<temper::search::Design> designs_;
};

}  // namespace example
