// What crosses processes and lands on disk: keys, candidates as text, measurements, records. Plain values, no
// behaviour.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace temper::record {

/// Version of the meaning of `Record`; raised whenever a field is added, dropped or read differently.
inline constexpr int kRecordSchema = 1;

/// Why a candidate has no time. A failure is data: it is stored, counted and learned from.
enum class FailureKind : std::uint8_t {
  None,
  InvalidSchedule,  ///< a primitive or the verifier refused it
  ResourceLimit,    ///< would exceed registers, stack, memory
  CompileError,
  CompileTimeout,
  Crash,  ///< died by a signal; the reason names it
  RunTimeout,
  WrongResult,
  OutOfBounds,  ///< touched a guard page or changed memory around its outputs
  Unstable,     ///< no trustworthy time after retries
};
/// "none", "invalid_schedule", ...
std::string_view to_string(FailureKind kind);
/// Inverse. Throws Error{InvalidArgument}.
FailureKind parse_failure_kind(std::string_view text);

/// The identity of a piece of work: canonical text of the reference computation and its interface (operator and
/// version, attributes, shapes, constness, dtypes, layouts, epilogue, threads). Equal text, same task. `fields` is the
/// key in parts, so that a miss can name the part that differs; `text()` is `operator(name=value,...)` with the fields
/// in order. A value may hold anything: commas inside of balanced brackets stand for themselves (`in=f32[1,64]`), what
/// would end a value too early is escaped with a backslash, a line break is `\n`. Different keys have different texts.
struct TaskKey {
  std::string op;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string text() const;
  /// Throws Error{InvalidArgument} when `text` is not of that form.
  static TaskKey parse(std::string_view text);
  bool operator==(const TaskKey&) const = default;
};

/// A point of a space: which design, and a value for each of its knobs, in the design's order.
struct CandidateRecord {
  std::string design;
  std::vector<std::pair<std::string, std::int64_t>> knobs;
  /// `design{knob=value,...}`; equal text, same candidate. Names are escaped as in `TaskKey`.
  std::string text() const;
  /// Throws Error{InvalidArgument} when `text` is not of that form.
  static CandidateRecord parse(std::string_view text);
  bool operator==(const CandidateRecord&) const = default;
};

struct Measurement {
  FailureKind failure = FailureKind::None;
  std::string reason;      ///< empty on success
  double min_seconds = 0;  ///< per call
  double median_seconds = 0;
  int repeats = 0;           ///< samples behind the two statistics
  std::int64_t number = 0;   ///< calls per sample
  double build_seconds = 0;  ///< wall-clock spent building
  double run_seconds = 0;    ///< wall-clock spent checking and timing
  double max_error = 0;      ///< largest difference from the reference over the largest absolute output
  bool ok() const { return failure == FailureKind::None; }
};

struct Record {
  std::int64_t id = 0;  ///< given by the store
  TaskKey task;
  std::uint64_t definition_hash = 0;  ///< structural hash of the compute: a validator, never the key
  std::string target;                 ///< fingerprint text, see target/
  int schema = kRecordSchema;         ///< versions of what gave the record its meaning
  std::string temper_version;
  CandidateRecord candidate;
  Measurement measurement;
  /// Definition and trace of the schedule, see compile/replay.h; kept for the best few of a task.
  std::optional<std::string> trace;
  std::string strategy;
  std::uint64_t seed = 0;
  std::int64_t created_unix_ms = 0;
};

}  // namespace temper::record
