// From a task to code without search: the stored winner where there is one, the default schedule otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "temper/codegen/codegen.h"
#include "temper/record/record.h"
#include "temper/schedule/schedule.h"
#include "temper/space/template.h"
#include "temper/store/store.h"
#include "temper/target/cpu.h"
#include "temper/tune/task.h"

namespace temper::tune {

/// Whether records are used, and whether a miss may search.
enum class Mode { Off, Cached, On };
/// Reads TEMPER_TUNE: "off" (default schedules only), "cached" (records, no search; also when it is not set), "on" (a
/// miss may search). Throws Error{InvalidArgument} for anything else.
Mode mode_from_environment();

/// The fastest record of this task and target that describes this very definition, or an alternative whose measured
/// error is at most `max_error` (`Options::max_error`). Records of another Temper version, record schema or definition
/// never count: `revalidate` in `tune/revalidate.h` says which of them still hold. Nothing: a miss, which
/// `store.why_not` explains.
std::optional<record::Record> best(const store::Store& store, const Task& task, const target::Target& target,
                                   double max_error = kMaxError);

/// The same for a key that no definition stands behind, such as the layouts of a model.
std::optional<record::Record> best(const store::Store& store, const record::TaskKey& key, std::uint64_t definition_hash,
                                   const target::Target& target, double max_error = kMaxError);

struct LookedUp {
  std::optional<record::Record> record;  ///< absent: the default schedule
  const ir::Compute* compute = nullptr;  ///< the definition that is scheduled: the task's or one of its alternatives
  schedule::Schedule schedule;
  std::string note;  ///< why a stored record was passed over, for its error too; empty: none was
};

/// The schedule to build for `task`: the best record's trace replayed, or its candidate materialised; verified. A
/// record that can no longer be built is passed over for the next best, then the default. `store` may be null. Throws
/// Error{Unsupported} when not even the default can be built.
LookedUp schedule_for(const store::Store* store, const Task& task, const target::Target& target,
                      std::span<const space::Template> templates = space::builtin_templates(),
                      double max_error = kMaxError);

/// The schedule of one record of `task`: its trace replayed, or its candidate materialised; verified. Throws
/// Error{NotFound} for another definition or a candidate that the spaces of today do not hold, and what replaying
/// throws.
LookedUp schedule_of(const record::Record& record, const Task& task, const target::Target& target,
                     std::span<const space::Template> templates = space::builtin_templates());

struct Built {
  std::optional<record::Record> record;  ///< absent: the default schedule
  codegen::Artifact artifact;
  std::string note;
};
/// `schedule_for`, compiled. With mode Off the store is not asked. Does not search.
Built artifact_for(const store::Store* store, const Task& task, const target::Target& target, Mode mode = Mode::Cached,
                   std::span<const space::Template> templates = space::builtin_templates(),
                   double max_error = kMaxError);

}  // namespace temper::tune
