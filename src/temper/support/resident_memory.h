// How much memory this process holds.
#pragma once

#include <cstdint>

namespace temper {

/// Bytes of this process that are in memory now; 0 when the system does not say.
std::int64_t resident_bytes();

}  // namespace temper
