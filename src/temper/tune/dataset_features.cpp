#include "temper/tune/dataset_features.h"

#include <optional>
#include <utility>

#include "temper/support/error.h"
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
  for (const DatasetRow& row : task.rows) {
    if (!row.ok()) {
      ++rows.failed;
      continue;
    }
    const std::optional<search::Candidate> candidate = find(space, candidate_of(task, row));
    const cost::Analysis analysis = candidate ? analyse(*candidate) : cost::Analysis{};
    if (!candidate || !analysis.buildable) {
      ++rows.unknown;
      continue;
    }
    rows.features.append(extractor.extract(*candidate, analysis));
    rows.seconds.push_back(row.seconds);
    rows.analytic.push_back(analysis.seconds);
  }
  return rows;
}

}  // namespace temper::tune
