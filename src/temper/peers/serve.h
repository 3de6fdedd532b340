// The child's side of the conversation. Requests are answered in order until the parent closes the channel:
//
//   {"type": "hello"}                             → {"version"}
//   {"type": "prepare", "work"} + inputs          → {}
//   {"type": "run", "calls", "warmup"}            → {"nanoseconds"}: `warmup` untimed calls, then `calls` timed ones
//   {"type": "outputs"}                           → {} + outputs of the last run
// A request that cannot be met is answered by {"error": {code, message, where, hint}}; the conversation goes on.
// scripts/peer_python.py speaks the same.
#pragma once

#include <functional>
#include <memory>

#include "temper/peers/message.h"
#include "temper/peers/native_library.h"

namespace temper::peers {

/// `open` makes the library when hello asks for it, so that its errors reach the parent.
void serve(const Channel& channel, const std::function<std::unique_ptr<NativeLibrary>()>& open);

/// Ends this process when the parent's end of `fd` closes, also during a run. Starts one thread, which only waits.
void exit_with_parent(int fd);

}  // namespace temper::peers
