#include "temper/store/store.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::store {
namespace {

/// Pairs the fields of two keys: equal names match in order, so that a repeated name is compared one by one.
void compare_fields(const TaskKey& wanted, const TaskKey& found, std::vector<Difference>& out) {
  std::vector<bool> used(found.fields.size(), false);
  for (const auto& [name, value] : wanted.fields) {
    std::size_t i = 0;
    while (i < found.fields.size() && (used[i] || found.fields[i].first != name)) ++i;
    if (i == found.fields.size()) {
      out.push_back({"key " + name, value, ""});
      continue;
    }
    used[i] = true;
    if (found.fields[i].second != value) out.push_back({"key " + name, value, found.fields[i].second});
  }
  for (std::size_t i = 0; i < found.fields.size(); ++i) {
    if (!used[i]) out.push_back({"key " + found.fields[i].first, "", found.fields[i].second});
  }
}

/// What keeps a record from being used although its key and target are right.
std::vector<Difference> compare_validity(const Wanted& wanted, const Record& found) {
  std::vector<Difference> out;
  if (found.schema != record::kRecordSchema) {
    out.push_back({"schema", std::to_string(record::kRecordSchema), std::to_string(found.schema)});
  }
  if (!wanted.temper_version.empty() && found.temper_version != wanted.temper_version) {
    out.push_back({"temper version", wanted.temper_version, found.temper_version});
  }
  if (wanted.definition_hash && found.definition_hash != *wanted.definition_hash) {
    out.push_back({"definition", to_hex(*wanted.definition_hash), to_hex(found.definition_hash)});
  }
  if (!found.measurement.ok()) {
    std::string reason(to_string(found.measurement.failure));
    if (!found.measurement.reason.empty()) reason += ": " + found.measurement.reason;
    out.push_back({"failure", "none", reason});
  }
  return out;
}

std::string quoted(const std::string& text) { return text.empty() ? "nothing" : "'" + text + "'"; }

}  // namespace

Appended& Appended::operator+=(const Appended& other) {
  inserted += other.inserted;
  replaced += other.replaced;
  kept += other.kept;
  return *this;
}

std::vector<Difference> compare_keys(const TaskKey& wanted, const TaskKey& found) {
  std::vector<Difference> out;
  if (wanted.op != found.op) out.push_back({"operator", wanted.op, found.op});
  compare_fields(wanted, found, out);
  return out;
}

void check_storable(const Record& r) {
  const auto refuse = [&](const char* what) {
    throw Error(ErrorCode::InvalidArgument, what, r.task.text() + " " + r.candidate.text(),
                "such a record cannot be stored");
  };
  if (r.task.op.empty()) refuse("a record's task has no operator");
  if (r.target.empty()) refuse("a record has no target");
  if (r.candidate.design.empty()) refuse("a record's candidate has no design");
  const record::Measurement& m = r.measurement;
  const auto is_time = [](double seconds) { return std::isfinite(seconds) && seconds > 0; };
  if (m.ok() && !(is_time(m.min_seconds) && is_time(m.median_seconds))) refuse("a valid record has no positive time");
}

Miss Store::why_not(const Wanted& wanted) const {
  Miss miss;
  // Records of the very task and target: the one with the fewest objections, the fastest of these.
  std::vector<Record> exact = best(wanted.task, wanted.target, 100);
  if (exact.empty()) exact = all(wanted.task, wanted.target);
  for (const Record& candidate : exact) {
    std::vector<Difference> differences = compare_validity(wanted, candidate);
    if (miss.nearest && differences.size() >= miss.differences.size()) continue;
    miss.nearest = candidate;
    miss.differences = std::move(differences);
    if (miss.differences.empty()) break;
  }
  if (miss.nearest) {
    miss.hit = miss.differences.empty();
    return miss;
  }

  // Another key or target: the nearest task of the same operator, preferably on the same target.
  std::vector<TaskSummary> candidates;
  for (NearTask& near : nearest_tasks(wanted.task, 1000, {})) candidates.push_back(std::move(near.summary));
  if (candidates.empty()) candidates = tasks();  // the operator itself is new: show any task
  const TaskSummary* nearest = nullptr;
  for (const TaskSummary& task : candidates) {
    std::vector<Difference> differences = compare_keys(wanted.task, task.task);
    if (task.target != wanted.target) differences.push_back({"target", wanted.target, task.target});
    if (nearest && differences.size() >= miss.differences.size()) continue;
    nearest = &task;
    miss.differences = std::move(differences);
  }
  miss.empty = nearest == nullptr;
  if (nearest) {
    if (nearest->best_id != 0) {
      miss.nearest = record(nearest->best_id);
    } else {
      miss.nearest = all(nearest->task, nearest->target).back();
    }
    const std::vector<Difference> more = compare_validity(wanted, *miss.nearest);
    // The definition of another key is another one by necessity: that is no reason of its own.
    std::copy_if(more.begin(), more.end(), std::back_inserter(miss.differences), [&](const Difference& difference) {
      return difference.field != "definition" || nearest->task == wanted.task;
    });
  }
  return miss;
}

std::string Miss::text() const {
  if (hit) return "There is a usable record: " + std::to_string(nearest->id) + ".";
  if (empty) return "The database holds no records.";
  std::string out = "The nearest record is " + std::to_string(nearest->id) + ", " + nearest->task.text() + " on " +
                    nearest->target + ". It differs in:";
  for (const Difference& difference : differences) {
    out += "\n  " + difference.field + ": wanted " + quoted(difference.wanted) + ", found " + quoted(difference.found);
  }
  return out;
}

}  // namespace temper::store
