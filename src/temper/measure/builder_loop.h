// The inside of a builder process: takes requests, builds, answers.
#pragma once

#include <functional>

#include "temper/protocol/channel.h"
#include "temper/support/clock.h"

namespace temper::measure {

/// Builds one candidate. The reply's id and total seconds are filled in by the loop. What it throws becomes a
/// CompileError.
using BuildFunction = std::function<protocol::BuildReply(const protocol::BuildRequest&)>;

/// Answers requests until the other side closes the channel. Throws Error for a broken channel.
void serve_builds(protocol::Channel& channel, const BuildFunction& build, const Clock& clock);

/// `main` of a builder: `PROGRAM PARENT MEMORY_LIMIT`, with its channel at protocol::kChannelFd. Returns the exit code.
int builder_main(int argc, char** argv, const BuildFunction& build);

}  // namespace temper::measure
