// Lists of values that knobs of several templates choose from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace temper::space {

/// 1, 2, 3, ... up to the smaller of `limit` and `most`.
inline std::vector<std::int64_t> range_up_to(std::int64_t limit, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t v = 1; v <= std::min(limit, most); ++v) out.push_back(v);
  return out;
}

/// Those of `candidates` that are no larger than `limit`; 1 where there are none.
inline std::vector<std::int64_t> up_to(std::int64_t limit, std::initializer_list<std::int64_t> candidates) {
  std::vector<std::int64_t> out;
  for (const std::int64_t v : candidates) {
    if (v <= limit) out.push_back(v);
  }
  if (out.empty()) out.push_back(1);
  return out;
}

}  // namespace temper::space
