#include "temper/measure/builder_loop.h"

#include <signal.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string_view>

#include "temper/protocol/handshake.h"
#include "temper/protocol/worker.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

/// Sanitizers reserve terabytes of address space for themselves, which no limit on it can allow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsAddressSpace = false;
#else
constexpr bool kLimitsAddressSpace = true;
#endif

constexpr double kHelloSeconds = 30;

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

protocol::BuildReply failed(protocol::Failure failure, const char* reason) {
  protocol::BuildReply reply;
  reply.set_failure(failure);
  reply.set_reason(reason);
  return reply;
}

protocol::BuildReply build_guarded(const protocol::BuildRequest& request, const BuildFunction& build) {
  try {
    return build(request);
  } catch (const std::bad_alloc&) {
    return failed(protocol::FAILURE_RESOURCE_LIMIT, "the builder has no memory left");
  } catch (const std::exception& error) {
    return failed(protocol::FAILURE_COMPILE_ERROR, error.what());
  }
}

}  // namespace

void serve_builds(protocol::Channel& channel, const BuildFunction& build, const Clock& clock) {
  protocol::Envelope envelope;
  while (channel.receive(envelope) == protocol::Received::Message) {
    if (!envelope.has_build_request())
      throw Error(ErrorCode::Corrupt, "the tuner sent a message that a builder does not take");
    const double start = clock.seconds();
    protocol::Envelope answer;
    protocol::BuildReply& reply = *answer.mutable_build_reply();
    reply = build_guarded(envelope.build_request(), build);
    reply.set_id(envelope.build_request().id());
    reply.set_seconds(clock.seconds() - start);
    channel.send(answer);
  }
}

int builder_main(int argc, char** argv, const BuildFunction& build) {
  const auto parent = argc == 3 ? parse_number(argv[1]) : std::nullopt;
  const auto memory_limit = argc == 3 ? parse_number(argv[2]) : std::nullopt;
  if (!parent || !memory_limit) {
    std::fputs("temper-builder compiles candidates; it is started by temper, not by hand\n", stderr);
    return 2;
  }
  protocol::die_with_parent(static_cast<pid_t>(*parent));
  signal(SIGPIPE, SIG_IGN);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (*memory_limit > 0 && kLimitsAddressSpace) {
    const rlimit limit{static_cast<rlim_t>(*memory_limit), static_cast<rlim_t>(*memory_limit)};
    setrlimit(RLIMIT_AS, &limit);
  }
  try {
    protocol::Channel channel{UniqueFd(protocol::kChannelFd)};
    protocol::shake_hands(channel, "builder", kHelloSeconds);
    const SystemClock clock;
    serve_builds(channel, build, clock);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace temper::measure
