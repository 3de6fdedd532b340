// Timing a kernel: warm-up, calibration of the inner loop, samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "temper/protocol/messages.pb.h"
#include "temper/runner/surroundings.h"
#include "temper/runner/task_data.h"
#include "temper/runtime/artifact_image.h"
#include "temper/runtime/thread_pool.h"
#include "temper/support/clock.h"

namespace temper::runner {

/// A kernel with the task's inputs and outputs and what it needs of its own, prepared, ready to be called over and
/// over, as long as no other one of the task is prepared: their memory is the same.
class TimedKernel {
 public:
  /// Takes the task's memory, runs `prepare` and overwrites the task's outputs. Borrows image, task and pool. Requires:
  /// `check_interface` was content.
  /// Throws Error{Io} without memory.
  TimedKernel(const runtime::ArtifactImage& image, TaskData& task, runtime::ThreadPool& pool);

  /// Takes the memory back after other kernels of the task had it, and prepares again what they overwrote. Throws
  /// Error{Io} without memory.
  void take_turn();
  void call() { runtime::run_phases(image_->run(), pointers_.data(), *pool_, scratch_.pointers()); }
  /// Whether the task wants constants, and what was prepared of them, outside of the caches, and there are any.
  bool has_cold_constants() const { return cold_constants_; }
  enum class What { Constants, Everything };
  /// Evicts constants and what was prepared of them, or all of its memory, from the caches.
  void evict(What what) const;
  /// Of all its buffers together.
  std::int64_t bytes() const;
  /// Memory of the artifact's `buffer`-th buffer.
  std::span<const std::byte> memory(std::size_t buffer) const;

 private:
  const runtime::ArtifactImage* image_;
  runtime::ThreadPool* pool_;
  runtime::TurnMemory* turns_;
  std::uint64_t user_;
  bool cold_constants_ = false;
  std::vector<std::int64_t> own_sizes_;  ///< per buffer of the artifact; zero for the task's
  std::vector<void*> pointers_;
  runtime::Scratch scratch_;
};

struct Samples {
  std::vector<double> seconds;  ///< per call; none of them disturbed
  std::int64_t number = 0;      ///< calls per sample
  protocol::Disturbed disturbed;
  std::string unstable;  ///< why they are too few to be trusted; empty: they are enough
};

/// Keeps the undisturbed ones of `readings`, which become the samples, and counts the others.
void keep_undisturbed(std::span<const Reading> readings, Samples& samples);

/// In words: what disturbed the samples that do not count.
std::string disturbed_text(std::size_t undisturbed, const protocol::Disturbed& disturbed);

/// Calls per sample such that one takes at least `timing.min_sample_seconds`, evictions included; calls the kernel at
/// least once, as warm-up.
std::int64_t calibrate(TimedKernel& kernel, const protocol::Timing& timing, const Clock& clock);

/// Gives a kernel its memory and its caches back, after another one has run; the latter with calls that are not timed,
/// as many as fill the time in which its memory can be read a few times over, and none where calls are timed cold.
void warm_up(TimedKernel& kernel, const protocol::Timing& timing, const Clock& clock);

/// One sample, in seconds per call; evictions are not timed.
double take_sample(TimedKernel& kernel, const protocol::Timing& timing, std::int64_t number, const Clock& clock);

/// All samples of a request. What was disturbed is taken again, `timing.retakes` times as many samples as are wanted,
/// and so are waits for a clock that is slow; two undisturbed ones are enough then. Ends early by
/// `timing.give_up_above_seconds`, and when the next sample would pass `end_seconds` on the clock, with one undisturbed
/// sample. `take` gives seconds per call, and is called again after `warm` where others had the CPU.
Samples sample(const std::function<double()>& take, const std::function<void()>& warm, std::int64_t number,
               const protocol::Timing& timing, Watch& watch, const Clock& clock, double end_seconds);

}  // namespace temper::runner
