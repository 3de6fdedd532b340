// The hardware test: builder processes on this machine, and runner processes here or on another one.
#pragma once

#include <filesystem>
#include <memory>

#include "temper/measure/remote_runner.h"
#include "temper/support/cancellation.h"
#include "temper/support/clock.h"
#include "temper/target/cpu.h"
#include "temper/tune/hardware_test.h"
#include "temper/tune/timing.h"

namespace temper::tune {

/// Starts the processes; their programs are in `programs`, or where `measure::find_program` looks when that is empty.
/// Borrows the clock. Throws Error{NotFound} or Error{Io} when a program is missing or does not start.
std::unique_ptr<HardwareTest> start_processes(const target::Target& target, int threads,
                                              const CancellationToken& cancellation, const Clock& clock,
                                              const std::filesystem::path& programs = {},
                                              const TimingOptions& timing = {});

/// The hardware of another machine, and the target to tune for.
struct RemoteHardware {
  target::Target target;
  int cpus = 0;  ///< that threads may use there
  std::unique_ptr<HardwareTest> test;
};

/// Connects to a remote runner for `runner.threads` threads and starts builders here that build for its machine.
/// Borrows the clock. Throws what measure::RemoteRunner throws, and as `start_processes`.
RemoteHardware start_remote(const measure::RemoteRunnerOptions& runner, const CancellationToken& cancellation,
                            const Clock& clock, const std::filesystem::path& programs = {},
                            const TimingOptions& timing = {});

}  // namespace temper::tune
