// A tuner for tests: starts a builder that hangs and a runner that hangs, prints their process numbers, and waits to be
// killed. Usage: orphan_parent BUILDER RUNNER
#include <cstdio>
#include <thread>

#include "runner/sample_task.h"
#include "temper/measure/builder_client.h"
#include "temper/measure/runner_client.h"

int main(int, char** argv) {
  using namespace temper;
  Spawner spawner;
  measure::RunnerClient runner(spawner, {{argv[2], std::int64_t{1} << 30, {}}, 30});
  measure::Worker builder = measure::Worker::start(spawner, {argv[1], 0, {}});
  builder.greet(30);
  protocol::Envelope envelope;
  envelope.mutable_build_request()->set_trace("hang");
  builder.channel().send(envelope);
  runner.set_task(testing::affine_task());
  CancellationToken never;
  runner.measure(testing::request_for("right"), never);  // so that it is up and has its task
  std::printf("%d %d\n", static_cast<int>(runner.pid()), static_cast<int>(builder.pid()));
  std::fflush(stdout);
  protocol::MeasureRequest hang = testing::request_for("hang");
  hang.mutable_timing()->set_time_limit_seconds(1000);
  runner.measure(hang, never);
  return 0;
}
