// Random records for property tests.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <utility>
#include <vector>

#include "temper/record/record.h"

namespace temper::record::testing {

/// Text over an alphabet in which most characters mean something to the text forms.
inline rc::Gen<std::string> tricky_text() {
  return rc::gen::container<std::string>(
      rc::gen::element('a', 'b', 'n', '1', '-', ' ', ',', '=', '(', ')', '[', ']', '{', '}', '\\', '\n', '"', '\t'));
}

inline rc::Gen<TaskKey> task_key() {
  return rc::gen::apply(
      [](std::string op, std::vector<std::pair<std::string, std::string>> fields) {
        return TaskKey{std::move(op), std::move(fields)};
      },
      tricky_text(),
      rc::gen::container<std::vector<std::pair<std::string, std::string>>>(
          rc::gen::pair(tricky_text(), tricky_text())));
}

inline rc::Gen<CandidateRecord> candidate() {
  return rc::gen::apply(
      [](std::string design, std::vector<std::pair<std::string, std::int64_t>> knobs) {
        return CandidateRecord{std::move(design), std::move(knobs)};
      },
      tricky_text(),
      rc::gen::container<std::vector<std::pair<std::string, std::int64_t>>>(
          rc::gen::pair(tricky_text(), rc::gen::arbitrary<std::int64_t>())));
}

inline rc::Gen<Record> record() {
  return rc::gen::exec([] {
    Record r;
    r.task = *task_key();
    r.definition_hash = *rc::gen::arbitrary<std::uint64_t>();
    r.target = *tricky_text();
    r.temper_version = *tricky_text();
    r.candidate = *candidate();
    Measurement& m = r.measurement;
    m.failure = static_cast<FailureKind>(*rc::gen::inRange(0, static_cast<int>(FailureKind::Unstable) + 1));
    m.reason = *tricky_text();
    m.min_seconds = *rc::gen::arbitrary<double>();
    m.median_seconds = *rc::gen::arbitrary<double>();
    m.repeats = *rc::gen::arbitrary<int>();
    m.number = *rc::gen::arbitrary<std::int64_t>();
    m.build_seconds = *rc::gen::arbitrary<double>();
    m.run_seconds = *rc::gen::arbitrary<double>();
    m.max_error = *rc::gen::arbitrary<double>();
    if (*rc::gen::arbitrary<bool>()) r.trace = *tricky_text();
    r.strategy = *tricky_text();
    r.seed = *rc::gen::arbitrary<std::uint64_t>();
    r.created_unix_ms = *rc::gen::arbitrary<std::int64_t>();
    return r;
  });
}

/// Every field but the id, compared exactly.
inline void expect_same(const Record& a, const Record& b) {
  RC_ASSERT(a.task == b.task);
  RC_ASSERT(a.definition_hash == b.definition_hash);
  RC_ASSERT(a.target == b.target);
  RC_ASSERT(a.schema == b.schema);
  RC_ASSERT(a.temper_version == b.temper_version);
  RC_ASSERT(a.candidate == b.candidate);
  RC_ASSERT(a.measurement.failure == b.measurement.failure);
  RC_ASSERT(a.measurement.reason == b.measurement.reason);
  RC_ASSERT(a.measurement.min_seconds == b.measurement.min_seconds);
  RC_ASSERT(a.measurement.median_seconds == b.measurement.median_seconds);
  RC_ASSERT(a.measurement.repeats == b.measurement.repeats);
  RC_ASSERT(a.measurement.number == b.measurement.number);
  RC_ASSERT(a.measurement.build_seconds == b.measurement.build_seconds);
  RC_ASSERT(a.measurement.run_seconds == b.measurement.run_seconds);
  RC_ASSERT(a.measurement.max_error == b.measurement.max_error);
  RC_ASSERT(a.trace == b.trace);
  RC_ASSERT(a.strategy == b.strategy);
  RC_ASSERT(a.seed == b.seed);
  RC_ASSERT(a.created_unix_ms == b.created_unix_ms);
}

}  // namespace temper::record::testing
