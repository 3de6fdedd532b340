// What keeps a database small and true: pruning, and checking its winners after an upgrade.
#include <fmt/format.h>

#include <map>

#include "temper/app/db_command.h"
#include "temper/app/options.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/tune/prune.h"
#include "temper/tune/revalidate.h"

namespace temper::app {

namespace {

using Kind = tune::TaskVerdict::Kind;

std::string failure_text(const record::Measurement& m) {
  return std::string(to_string(m.failure)) + (m.reason.empty() ? "" : ": " + m.reason);
}

nlohmann::json verdict_json(const tune::TaskVerdict& v) {
  nlohmann::json records = nlohmann::json::array();
  for (const tune::CheckedRecord& r : v.records) {
    records.push_back({{"id", r.id},
                       {"candidate", r.candidate.text()},
                       {"temper", r.temper_version},
                       {"recorded_seconds", r.recorded_seconds},
                       {"failure", to_string(r.measurement.failure)},
                       {"reason", r.measurement.reason},
                       {"seconds", r.measurement.ok() ? r.measurement.min_seconds : 0}});
  }
  return {{"task", v.task.text()},
          {"verdict", to_string(v.kind)},
          {"reason", v.reason},
          {"default_seconds", v.default_seconds},
          {"best_seconds", v.best_seconds},
          {"best_candidate", v.best_candidate},
          {"records", records}};
}

void print_verdict(Session& s, const tune::TaskVerdict& v, std::size_t done, std::size_t all) {
  const std::string words = v.kind == Kind::DefaultKept ? "default kept" : std::string(to_string(v.kind));
  std::string line = fmt::format("[{}/{}] {:<12} {}", done, all, words, v.task.text());
  if (v.best_seconds > 0)
    line += fmt::format("  {} (default {})", seconds_text(v.best_seconds), seconds_text(v.default_seconds));
  if (v.kind == Kind::Skipped || v.kind == Kind::Undecided) line += ": " + v.reason;
  s.progress(line);
  for (const tune::CheckedRecord& r : v.records) {
    if (r.measurement.ok()) continue;
    s.progress(fmt::format("    record {} of Temper {}: {}", r.id, r.temper_version, failure_text(r.measurement)));
  }
}

}  // namespace

nlohmann::json db_prune(Session& s, const DbOptions& o) {
  if (o.dry_run && o.vacuum)
    throw Error(ErrorCode::InvalidArgument, "--vacuum with --dry-run", "--vacuum", "leave one of them out");
  const auto store = store::open_sqlite(o.db, o.dry_run ? store::OpenMode::ReadOnly : store::OpenMode::ReadWrite);
  nlohmann::json out{{"dry_run", o.dry_run}};
  tune::PruneOptions options;
  if (o.keep > 0) options.keep = o.keep;
  options.stale = o.stale;
  options.failures = o.failures;
  options.dry_run = o.dry_run;
  options.cancellation = s.cancellation;
  if (options.keep || o.stale || o.failures || !o.vacuum) {
    const tune::PruneReport report = tune::prune(*store, options);
    std::string reasons;
    for (const auto& [reason, count] : report.reasons)
      reasons += fmt::format("{}{} {}", reasons.empty() ? ": " : ", ", count, reason);
    s.print(fmt::format("{} of {} {}{}\n", report.removed, counted(report.records, "record"),
                        o.dry_run ? "would be removed" : "removed", reasons));
    out["records"] = report.records;
    out["removed"] = report.removed;
    out["reasons"] = report.reasons;
    if (report.cancelled) return out;
  }
  if (!o.vacuum) return out;
  const std::int64_t before = store->stats().bytes;
  store->compact();
  const std::int64_t after = store->stats().bytes;
  s.print(fmt::format("the file has {:.1f} MB, it had {:.1f}\n", static_cast<double>(after) * 1e-6,
                      static_cast<double>(before) * 1e-6));
  out["bytes_before"] = before;
  out["bytes"] = after;
  return out;
}

nlohmann::json db_revalidate(Session& s, const DbOptions& o) {
  if (!o.older_than.empty() && !o.all)
    throw Error(ErrorCode::InvalidArgument, "--older-than is for --all", "--older-than", "add --all, or leave it out");
  tune::RevalidateOptions options;
  options.all = o.all;
  options.best = o.best;
  options.max_error = o.max_error;
  options.cancellation = s.cancellation;
  if (!o.older_than.empty()) {
    const double seconds = parse_duration(o.older_than, "--older-than");
    options.measured_before_unix_ms = SystemClock().unix_milliseconds() - static_cast<std::int64_t>(seconds * 1e3);
  }
  const auto store = store::open_sqlite(o.db, store::OpenMode::ReadWrite);
  const tune::RevalidateReport report =
      tune::revalidate(*store, options, [&](const tune::TaskVerdict& verdict, std::size_t done, std::size_t all) {
        print_verdict(s, verdict, done, all);
      });
  nlohmann::json tasks = nlohmann::json::array();
  std::map<std::string, std::int64_t> counts;
  for (const Kind kind : {Kind::Confirmed, Kind::DefaultKept, Kind::Failed, Kind::Undecided, Kind::Skipped})
    counts[std::string(to_string(kind))] = 0;
  for (const tune::TaskVerdict& verdict : report.tasks) {
    tasks.push_back(verdict_json(verdict));
    ++counts[std::string(to_string(verdict.kind))];
  }
  s.print(
      fmt::format("{} checked: {} confirmed, {} keep the default, {} failed, {} undecided, {} skipped; {} needed no "
                  "check\n",
                  counted(std::ssize(report.tasks), "task"), counts["confirmed"], counts["default_kept"],
                  counts["failed"], counts["undecided"], counts["skipped"], report.untouched));
  if (report.cancelled) {
    s.progress("stopped; what was decided is in " + o.db + ", the same command goes on from there");
  } else if (counts["undecided"] > 0) {
    s.progress("the machine is too busy for trustworthy times; the same command tries the undecided tasks again");
  }
  s.exit_code = report.cancelled ? 130 : counts["undecided"] > 0 ? 1 : 0;
  return {{"tasks", tasks}, {"counts", counts}, {"untouched", report.untouched}, {"cancelled", report.cancelled}};
}

}  // namespace temper::app
