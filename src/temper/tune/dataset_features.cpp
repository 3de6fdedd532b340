#include "temper/tune/dataset_features.h"

#include <optional>
#include <utility>
#include <vector>

#include "temper/runtime/thread_pool.h"
#include "temper/support/error.h"
#include "temper/support/parallel.h"
#include "temper/tune/task_features.h"

namespace temper::tune {
namespace {

std::optional<search::Candidate> find(const TaskSpace& space, const record::CandidateRecord& record) {
  try {
    return search::from_record(space, record);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::NotFound) throw;
    return std::nullopt;
  }
}

}  // namespace

TaskRows rows_of(const DatasetTask& task, const target::Target& target) {
  const TaskSpace space(task.task, target, space::builtin_templates());
  const cost::FeatureExtractor extractor = task_extractor(space, task.task, target);
  const cost::Analyse analyse = task_analysis(space, target, task.task.threads);
  TaskRows rows;
  rows.key = task.task.key.text();
  rows.columns = extractor.columns();
  rows.features = cost::FeatureMatrix(rows.columns.size());
  std::vector<search::Candidate> candidates;
  std::vector<double> seconds;
  for (const DatasetRow& row : task.rows) {
    if (!row.ok()) {
      ++rows.failed;
    } else if (const std::optional<search::Candidate> candidate = find(space, candidate_of(task, row))) {
      candidates.push_back(*candidate);
      seconds.push_back(row.seconds);
    } else {
      ++rows.unknown;
    }
  }
  std::vector<cost::Analysis> analyses(candidates.size());
  share_among_threads(
      static_cast<int>(candidates.size()), static_cast<int>(runtime::allowed_cpus().size()),
      [&](int i) { analyses[static_cast<std::size_t>(i)] = analyse(candidates[static_cast<std::size_t>(i)]); });
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!analyses[i].buildable) {
      ++rows.unknown;
      continue;
    }
    rows.features.append(extractor.extract(candidates[i], analyses[i]));
    rows.seconds.push_back(seconds[i]);
    rows.analytic.push_back(analyses[i].seconds);
  }
  return rows;
}

}  // namespace temper::tune
