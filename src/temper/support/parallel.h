// Independent work shared among threads that live as long as the call.
#pragma once

#include <functional>

namespace temper {

/// Calls `work(i)` once for each i below `count`, on up to `threads` threads, the caller's among them; each takes the
/// next i as soon as it is free; fewer threads where the system has no more. The first exception ends it: what has
/// begun is finished, and it is thrown again.
void share_among_threads(int count, int threads, const std::function<void(int)>& work);

}  // namespace temper
