// The hardware test on this machine: builder and runner processes.
#pragma once

#include <filesystem>
#include <memory>

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

}  // namespace temper::tune
