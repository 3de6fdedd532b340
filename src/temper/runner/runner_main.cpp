// temper-runner: the process in which candidates run. Started by Temper with a socket and a shared page; not for
// people.
//
// temper-runner PARENT MEMORY_LIMIT [CPU...]
//   PARENT        process that this one dies with
//   MEMORY_LIMIT  bytes of address space that candidates may take on top of what the runner needs itself; 0: no limit
//   CPU           numbers of the CPUs for thread 0, 1, ...

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

#include "temper/protocol/handshake.h"
#include "temper/protocol/worker.h"
#include "temper/runner/session.h"
#include "temper/support/error.h"

namespace {

/// Sanitizers reserve terabytes of address space for themselves, which no limit on it can allow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsAddressSpace = false;
#else
constexpr bool kLimitsAddressSpace = true;
#endif

constexpr double kHelloSeconds = 30;

/// Limits the address space to what is in use now plus `bytes`; returns the limit, or 0 where there is none.
std::int64_t limit_memory(std::int64_t bytes) {
  if (bytes <= 0 || !kLimitsAddressSpace) return 0;
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::int64_t limit = pages * sysconf(_SC_PAGESIZE) + bytes;
  const rlimit value{static_cast<rlim_t>(limit), static_cast<rlim_t>(limit)};
  return setrlimit(RLIMIT_AS, &value) == 0 ? limit : 0;
}

/// Nothing unless each word is a number, 0 or above.
std::optional<std::vector<std::int64_t>> parse_numbers(const std::vector<std::string_view>& words) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : words) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || stop != word.data() + word.size() || number < 0) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

int serve(std::int64_t memory_limit, std::vector<int> cpus) {
  namespace protocol = temper::protocol;
  namespace runner = temper::runner;
  signal(SIGPIPE, SIG_IGN);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  protocol::SharedFaultPage page = protocol::SharedFaultPage::open(temper::UniqueFd(protocol::kFaultPageFd));
  protocol::Channel channel{temper::UniqueFd(protocol::kChannelFd)};
  protocol::shake_hands(channel, "runner", kHelloSeconds);
  runner::FaultHandler faults(page.page(), limit_memory(memory_limit));
  const temper::SystemClock clock;
  runner::SystemSurroundings surroundings;
  runner::Session session(channel, faults, clock, surroundings, {memory_limit, std::move(cpus)});
  session.serve();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto numbers = parse_numbers({argv + 1, argv + argc});
  if (!numbers || numbers->size() < 2) {
    std::fputs("temper-runner times compiled candidates; it is started by temper, not by hand\n", stderr);
    return 2;
  }
  temper::protocol::die_with_parent(static_cast<pid_t>((*numbers)[0]));
  try {
    return serve((*numbers)[1], std::vector<int>(numbers->begin() + 2, numbers->end()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
