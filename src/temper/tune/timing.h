// How long each candidate is timed.
#pragma once

#include <cstdint>

namespace temper::tune {

struct TimingOptions {
  int repeat = 5;           ///< samples of each candidate; their minimum and median are recorded
  std::int64_t number = 0;  ///< calls per sample; 0: as many as make a sample long for the clock
};

}  // namespace temper::tune
