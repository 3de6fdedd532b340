#include "temper/store/t4_export.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <vector>

#include "temper/support/error.h"
#include "temper/support/output_file.h"

namespace temper::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDesign = "design";
constexpr std::int64_t kAbsent = -1;
constexpr double kMilliseconds = 1e3;  ///< in a second

/// "2023-11-14 22:13:20.123+00:00"
std::string time_text(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  const std::string fraction = std::to_string(1000 + unix_ms % 1000).substr(1);
  return std::string(text.data(), length) + "." + fraction + "+00:00";
}

/// The knobs of all designs, in the order in which they come.
std::vector<std::string> knobs_of(const std::vector<Record>& records) {
  std::vector<std::string> names;
  for (const Record& r : records) {
    for (const auto& [name, value] : r.candidate.knobs) {
      if (std::ranges::find(names, name) != names.end()) continue;
      if (name == kDesign) {
        throw Error(ErrorCode::InvalidArgument, "a knob is called 'design', which names the design in T4 files",
                    r.candidate.text(), "export this task as JSON Lines");
      }
      names.push_back(name);
    }
  }
  return names;
}

Json times_of(const record::Measurement& m) {
  Json times{{"compilation", m.build_seconds * kMilliseconds}, {"framework", 0}, {"search_algorithm", 0}};
  const double told = m.ok() ? m.min_seconds + m.median_seconds : 0;
  times["validation"] = std::max(m.run_seconds - told, 0.0) * kMilliseconds;
  if (m.ok()) times["runtimes"] = {m.min_seconds * kMilliseconds, m.median_seconds * kMilliseconds};
  return times;
}

Json entry_of(const Record& r, const std::vector<std::string>& knobs) {
  Json configuration{{kDesign, r.candidate.design}};
  for (const std::string& name : knobs) {
    const auto found = std::ranges::find(r.candidate.knobs, name, [](const auto& knob) { return knob.first; });
    configuration[name] = found == r.candidate.knobs.end() ? kAbsent : found->second;
  }
  const record::Measurement& m = r.measurement;
  const auto measurement = [&](const char* name, double seconds) {
    const Json value = m.ok() ? Json(seconds * kMilliseconds) : Json(to_string(m.failure));
    return Json{{"name", name}, {"value", value}, {"unit", "milliseconds"}};
  };
  return {
      {"timestamp", time_text(r.created_unix_ms)},
      {"configuration", configuration},
      {"times", times_of(m)},
      {"invalidity", t4_invalidity(m.failure)},
      {"correctness", m.ok() ? 1 : 0},
      {"measurements", Json::array({measurement("time", m.min_seconds), measurement("median_time", m.median_seconds)})},
      {"objectives", Json::array({"time"})}};
}

}  // namespace

std::string_view t4_invalidity(record::FailureKind kind) {
  using record::FailureKind;
  switch (kind) {
    case FailureKind::None: return "correct";
    case FailureKind::InvalidSchedule: return "constraints";
    case FailureKind::CompileError:
    case FailureKind::CompileTimeout: return "compile";
    case FailureKind::RunTimeout: return "timeout";
    case FailureKind::WrongResult:
    case FailureKind::OutOfBounds: return "correctness";
    case FailureKind::ResourceLimit:
    case FailureKind::Crash:
    case FailureKind::Unstable: return "runtime";
  }
  return "runtime";
}

std::int64_t export_t4(const Store& store, const TaskKey& task, std::string_view target,
                       const std::filesystem::path& path) {
  for (const char* companion : {"", "-wal", "-shm"}) refuse_overwriting(store.location() + companion, path);
  const std::vector<Record> records = store.all(task, target);
  if (records.empty()) {
    throw Error(ErrorCode::NotFound, "no record of " + task.text() + " on " + std::string(target), store.location(),
                "`temper db list` shows the tasks and `temper db stats` the targets");
  }
  const std::vector<std::string> knobs = knobs_of(records);
  OutputFile file(path, "the export");
  try {
    const Json metadata{{"timeunit", "milliseconds"}, {"task", task.text()}, {"target", target}};
    file.write("{\"metadata\": " + metadata.dump() + ",\n\"schema_version\": \"1.0.0\",\n\"results\": [");
    const char* separator = "\n";
    for (const Record& r : records) {
      file.write(separator + entry_of(r, knobs).dump());
      separator = ",\n";
    }
  } catch (const Json::type_error& error) {
    throw Error(ErrorCode::InvalidArgument, "a record holds text that is not UTF-8", error.what(),
                "names of operators, designs and targets must be UTF-8");
  }
  file.write("\n]}\n");
  file.keep();
  return static_cast<std::int64_t>(records.size());
}

}  // namespace temper::store
