#include "temper/tune/prune.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "temper/record/record.h"
#include "temper/support/error.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

/// Of whatever definition.
bool is_of_today(const record::Record& record) { return is_current(record, record.definition_hash); }

/// The records that no option removes. `ranked`: those with a time, today's first, each part fastest first.
std::set<std::int64_t> kept_always(const std::vector<record::Record>& records,
                                   const std::vector<const record::Record*>& ranked) {
  std::set<std::int64_t> kept;
  const bool today = !ranked.empty() && is_of_today(*ranked.front());
  std::map<std::uint64_t, std::vector<const record::Record*>> by_definition;
  for (const record::Record* record : ranked) {
    if (is_of_today(*record) == today) by_definition[record->definition_hash].push_back(record);
  }
  for (auto& [definition, best] : by_definition) {
    kept.insert(best.front()->id);
    lead_with_preferred(best.begin(), best.end(),
                        [](const record::Record* r) -> const record::Measurement& { return r->measurement; });
    kept.insert(best.front()->id);
  }
  // Defaults of other versions serve nobody once there is one of today.
  const auto is_default = [](const record::Record& r) { return r.strategy == kDefaultOrigin; };
  const bool default_today =
      std::ranges::any_of(records, [&](const record::Record& r) { return is_default(r) && is_of_today(r); });
  for (const record::Record& record : records) {
    if (is_default(record) && is_of_today(record) == default_today) kept.insert(record.id);
  }
  return kept;
}

/// What is to go, by number, with the reason.
std::vector<std::pair<std::int64_t, const char*>> superfluous(const std::vector<record::Record>& records,
                                                              const PruneOptions& options) {
  std::vector<const record::Record*> ranked;
  for (const record::Record& record : records) {
    if (record.measurement.ok()) ranked.push_back(&record);
  }
  std::ranges::stable_sort(
      ranked, {}, [](const record::Record* r) { return std::pair(!is_of_today(*r), r->measurement.min_seconds); });
  const std::set<std::int64_t> kept = kept_always(records, ranked);
  std::set<std::int64_t> slower;
  if (options.keep) {
    for (std::size_t i = static_cast<std::size_t>(*options.keep); i < ranked.size(); ++i) slower.insert(ranked[i]->id);
  }
  std::vector<std::pair<std::int64_t, const char*>> out;
  for (const record::Record& record : records) {
    if (kept.contains(record.id)) continue;
    if (options.stale && !is_of_today(record)) {
      out.emplace_back(record.id, "stale");
    } else if (options.failures && !record.measurement.ok()) {
      out.emplace_back(record.id, "failure");
    } else if (slower.contains(record.id)) {
      out.emplace_back(record.id, "slower");
    }
  }
  return out;
}

}  // namespace

PruneReport prune(store::Store& store, const PruneOptions& options) {
  if (!options.keep && !options.stale && !options.failures) {
    throw Error(ErrorCode::InvalidArgument, "nothing is to be pruned", "prune",
                "say what: the best few to keep, stale records, failures");
  }
  if (options.keep && *options.keep < 1)
    throw Error(ErrorCode::InvalidArgument, "at least the best record of a task stays", "keep",
                "give a number above 0");
  PruneReport report;
  for (const store::TaskSummary& task : store.tasks()) {
    if (options.cancellation.requested()) {
      report.cancelled = true;
      break;
    }
    const std::vector<record::Record> records = store.all(task.task, task.target);
    report.records += std::ssize(records);
    std::vector<std::int64_t> ids;
    std::map<std::string, std::int64_t> reasons;
    for (const auto& [id, reason] : superfluous(records, options)) {
      ids.push_back(id);
      ++reasons[reason];
    }
    report.removed += options.dry_run ? std::ssize(ids) : store.remove(ids);
    for (const auto& [reason, count] : reasons) report.reasons[reason] += count;
  }
  return report;
}

}  // namespace temper::tune
