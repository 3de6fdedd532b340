#include "temper/runner/timing.h"

#include <immintrin.h>

#include <algorithm>
#include <cmath>

namespace temper::runner {
namespace {

constexpr std::int64_t kMaxNumber = 10'000'000;
constexpr std::int64_t kLineBytes = 64;
/// A third of what a core reads from memory: after one pass the last cache still holds much of what others left there.
constexpr double kWarmupBytesPerSecond = 4e9;

bool is_of_constants(const temper_buffer& buffer) {
  return buffer.role == TEMPER_BLOB || (buffer.role == TEMPER_CONSTANT && buffer.used_by_run);
}

/// `number` calls, each after an eviction: the seconds of the calls alone.
double cold_calls(TimedKernel& kernel, TimedKernel::What what, std::int64_t number, const Clock& clock) {
  double seconds = 0;
  for (std::int64_t i = 0; i < number; ++i) {
    kernel.evict(what);
    const double start = clock.seconds();
    kernel.call();
    seconds += clock.seconds() - start;
  }
  return seconds;
}

double calls(TimedKernel& kernel, const protocol::Timing& timing, std::int64_t number, const Clock& clock) {
  if (timing.cold()) return cold_calls(kernel, TimedKernel::What::Everything, number, clock);
  if (kernel.has_cold_constants()) return cold_calls(kernel, TimedKernel::What::Constants, number, clock);
  const double start = clock.seconds();
  for (std::int64_t i = 0; i < number; ++i) kernel.call();
  return clock.seconds() - start;
}

}  // namespace

TimedKernel::TimedKernel(const runtime::ArtifactImage& image, TaskData& task, runtime::ThreadPool& pool)
    : image_(&image), pool_(&pool), turns_(&task.own_memory), user_(turns_->enter()) {
  const auto buffers = image.buffers();
  const auto is_own = [](const temper_buffer& b) { return b.role == TEMPER_BLOB || b.role == TEMPER_WORKSPACE; };
  for (const temper_buffer& buffer : buffers) {
    own_sizes_.push_back(is_own(buffer) ? buffer.bytes : 0);
    pointers_.push_back(is_own(buffer)                 ? nullptr
                        : buffer.role == TEMPER_OUTPUT ? task.outputs.find(buffer.name)->second.aligned.data()
                                                       : task.inputs.find(buffer.name)->second.aligned.data());
  }
  // What an earlier kernel left in the outputs would hide that this one writes nothing; gaps are to hold the pattern.
  for (auto& [name, output] : task.outputs) spoil(output.aligned);
  cold_constants_ = task.cold_constants && std::ranges::any_of(image.buffers(), is_of_constants);
  scratch_.reserve(pool.threads(), image.scratch_bytes());
  take_turn();
}

void TimedKernel::take_turn() {
  const runtime::TurnMemory::Turn turn = turns_->take(user_, runtime::BufferGroup::bytes_for(own_sizes_));
  if (!turn.is_new) return;
  const runtime::BufferGroup own(own_sizes_, turn.memory);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own_sizes_[i] > 0) pointers_[i] = own[i].data();
  }
  runtime::run_phases(image_->prepare(), pointers_.data(), *pool_, scratch_.pointers());
}

void TimedKernel::evict(What what) const {
  const auto buffers = image_->buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (what == What::Constants && !is_of_constants(buffers[i])) continue;
    const auto* begin = static_cast<const std::byte*>(pointers_[i]);
    for (std::int64_t at = 0; at < buffers[i].bytes; at += kLineBytes) _mm_clflush(begin + at);
  }
  _mm_mfence();
}

std::int64_t TimedKernel::bytes() const {
  std::int64_t sum = 0;
  for (const temper_buffer& buffer : image_->buffers()) sum += buffer.bytes;
  return sum;
}

std::span<const std::byte> TimedKernel::memory(std::size_t buffer) const {
  return {static_cast<const std::byte*>(pointers_[buffer]), static_cast<std::size_t>(image_->buffers()[buffer].bytes)};
}

std::int64_t calibrate(TimedKernel& kernel, const protocol::Timing& timing, const Clock& clock) {
  kernel.call();
  if (timing.number() > 0) return timing.number();
  for (std::int64_t number = 1;;) {
    const double start = clock.seconds();
    calls(kernel, timing, number, clock);
    const double elapsed = clock.seconds() - start;
    if (elapsed >= timing.min_sample_seconds() || number >= kMaxNumber) return number;
    // Aims 10% above the goal; grows at most tenfold at a time, because the first calls say little about the later
    // ones.
    const double factor = elapsed > 0 ? 1.1 * timing.min_sample_seconds() / elapsed : 10;
    const double next = std::ceil(static_cast<double>(number) * std::clamp(factor, 1.1, 10.0));
    number = std::min(static_cast<std::int64_t>(next), kMaxNumber);
  }
}

void warm_up(TimedKernel& kernel, const protocol::Timing& timing, const Clock& clock) {
  kernel.take_turn();
  if (timing.cold() || kernel.has_cold_constants()) return;
  const double end = clock.seconds() + static_cast<double>(kernel.bytes()) / kWarmupBytesPerSecond;
  do {
    kernel.call();
  } while (clock.seconds() < end);
}

double take_sample(TimedKernel& kernel, const protocol::Timing& timing, std::int64_t number, const Clock& clock) {
  return calls(kernel, timing, number, clock) / static_cast<double>(number);
}

void keep_undisturbed(std::span<const Reading> readings, Samples& samples) {
  const std::vector<Disturbance> disturbances = judge(readings);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    switch (disturbances[i]) {
      case Disturbance::None: samples.seconds.push_back(readings[i].seconds); break;
      case Disturbance::Clock: samples.disturbed.set_clock(samples.disturbed.clock() + 1); break;
      case Disturbance::Others: samples.disturbed.set_others(samples.disturbed.others() + 1); break;
    }
  }
}

std::string disturbed_text(std::size_t undisturbed, const protocol::Disturbed& disturbed) {
  std::string text = std::to_string(undisturbed) + " undisturbed samples";
  if (disturbed.others() > 0) text += "; other processes had the CPU in " + std::to_string(disturbed.others());
  if (disturbed.clock() > 0) text += "; the processor's clock was slower in " + std::to_string(disturbed.clock());
  return text;
}

Samples sample(const std::function<double()>& take, const std::function<void()>& warm, std::int64_t number,
               const protocol::Timing& timing, Watch& watch, const Clock& clock, double end_seconds) {
  const auto wanted = static_cast<std::size_t>(timing.repeats());
  const std::size_t most = wanted * static_cast<std::size_t>(1 + std::max(timing.retakes(), 0));
  Samples samples;
  samples.number = number;
  std::vector<Reading> readings;
  bool short_of_time = false, gave_up = false, settled = false;  // after the last reading
  // The clock has become slower, and when it did is not known.
  const auto spoil = [&] {
    samples.disturbed.set_clock(samples.disturbed.clock() + std::ssize(readings));
    readings.clear();
  };
  for (std::size_t taken = 0; taken < most && !short_of_time; ++taken) {
    if (readings.empty() && !watch.settle()) {
      samples.disturbed.set_clock(samples.disturbed.clock() + 1);
      short_of_time = clock.seconds() > end_seconds;
      continue;
    }
    readings.push_back(watch.read(take));
    const std::vector<Disturbance> disturbances = judge(readings);
    const bool disturbed = disturbances.back() != Disturbance::None;
    const double seconds = readings.back().seconds;
    gave_up = !disturbed && timing.give_up_above_seconds() > 0 && seconds > timing.give_up_above_seconds();
    short_of_time = clock.seconds() + seconds * static_cast<double>(number) > end_seconds;
    const auto quiet = static_cast<std::size_t>(std::ranges::count(disturbances, Disturbance::None));
    if (quiet < wanted && !gave_up && !short_of_time) {
      if (disturbed) {
        watch.pause();
        warm();
      }
      continue;
    }
    settled = watch.settle();
    if (settled) break;
    spoil();
    gave_up = false;
  }
  if (!settled && !readings.empty() && !watch.settle()) spoil();
  keep_undisturbed(readings, samples);
  const std::size_t needed = gave_up || short_of_time ? 1 : std::min<std::size_t>(wanted, 2);
  if (samples.seconds.size() < needed) samples.unstable = disturbed_text(samples.seconds.size(), samples.disturbed);
  return samples;
}

}  // namespace temper::runner
