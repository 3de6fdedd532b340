// A builder for tests: the trace says what it shall do.
//   artifact NAME   answers with the hand-written kernel of that name
//   watch FILE      the same for "right", unless somebody holds that lock alone meanwhile, as those do who time
//   crash, abort, hang, exit, throw, refuse, nonsense, eat_memory
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "artifacts/artifacts.h"
#include "temper/measure/builder_loop.h"
#include "temper/protocol/worker.h"
#include "temper/support/unique_fd.h"

namespace {

using temper::protocol::BuildReply;
using temper::protocol::BuildRequest;

BuildReply build(const BuildRequest& request) {
  const std::string& trace = request.trace();
  BuildReply reply;
  if (trace.starts_with("artifact ")) {
    reply.set_artifact(temper::testing::artifact_text(trace.substr(9)));
    auto& step = *reply.add_steps();
    step.set_step("copy");
    step.set_seconds(0.5);
    reply.set_ir(request.compute() + "/" + request.target());
    return reply;
  }
  if (trace.starts_with("watch ")) {
    for (int look = 0; look < 20; ++look) {
      const temper::UniqueFd lock(open(trace.substr(6).c_str(), O_RDWR | O_CLOEXEC));
      if (flock(lock.get(), LOCK_SH | LOCK_NB) != 0) {
        reply.set_failure(temper::protocol::FAILURE_COMPILE_ERROR);
        reply.set_reason("something is timed while this is built");
        return reply;
      }
      usleep(500);
    }
    reply.set_artifact(temper::testing::artifact_text("right"));
    return reply;
  }
  if (trace == "crash") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would catch it
    std::raise(SIGSEGV);
  }
  if (trace == "abort") {
    std::fputs("LLVM ERROR: cannot select\n", stderr);
    std::abort();
  }
  if (trace == "hang") {
    for (;;) pause();
  }
  if (trace == "exit") std::_Exit(7);
  if (trace == "throw") throw std::runtime_error("no such thing");
  if (trace == "refuse") {
    reply.set_failure(temper::protocol::FAILURE_INVALID_SCHEDULE);
    reply.set_reason("loop k is no loop");
    return reply;
  }
  if (trace == "nonsense") {
    const char text[] = "this is no frame of the protocol";
    if (write(temper::protocol::kChannelFd, text, sizeof text) < 0) std::_Exit(8);
    for (;;) pause();
  }
  if (trace == "eat_memory") throw std::bad_alloc();
  throw std::invalid_argument("the trace says nothing: " + trace);
}

}  // namespace

int main(int argc, char** argv) { return temper::measure::builder_main(argc, argv, build); }
