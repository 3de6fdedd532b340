// Datasets of measured candidates: what cost models are trained on and judged by.
//
// A dataset is a text file that needs nothing beside it: the definitions of each task stand in it, so that the programs
// of its candidates can be made again on any machine.
//
//   temper-dataset 1
//   target zen5-...                         fingerprint of the target that measured
//   task matmul(batch=1,m=512,...)          text of the key
//   flops 2.68435e+08
//   definition                              of the reference; then `definition winograd2` and so on
//   |%A = ...                               its text (ir/compute.h), each line behind a bar
//   design channels vector vectors rows     a design of the space and the names of its knobs
//   = 0 16 2 6 1.0084e-03                   a candidate: number of its design, its knob values, seconds
//   ! 0 16 4 9 crash                        one that failed, and how
//   end 500                                 number of candidates of the task
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/record/record.h"
#include "temper/search/enumeration.h"
#include "temper/store/store.h"
#include "temper/target/cpu.h"
#include "temper/tune/task.h"

namespace temper::tune {

inline constexpr int kDatasetSchema = 1;

/// One candidate and what came of it.
struct DatasetRow {
  std::size_t design = 0;  ///< index into `DatasetTask::designs`
  std::vector<std::int64_t> values;
  record::FailureKind failure = record::FailureKind::None;
  double seconds = 0;  ///< least time of a call; 0 for a failure
  bool ok() const { return failure == record::FailureKind::None; }
  bool operator==(const DatasetRow&) const = default;
};

struct DatasetDesign {
  std::string name;
  std::vector<std::string> knobs;
  bool operator==(const DatasetDesign&) const = default;
};

struct DatasetTask {
  Task task;
  std::vector<DatasetDesign> designs;
  std::vector<DatasetRow> rows;
};

/// The candidate of a row as records name it.
record::CandidateRecord candidate_of(const DatasetTask& task, const DatasetRow& row);

struct Dataset {
  std::string target;  ///< fingerprint
  std::vector<DatasetTask> tasks;
};

std::string print(const Dataset& dataset);
/// Throws Error{InvalidArgument} that names the line at fault; `where` names the text.
Dataset parse_dataset(std::string_view text, const std::string& where);
/// Throws as `OutputFile`.
void save(const Dataset& dataset, const std::filesystem::path& file);
/// Throws Error{NotFound} when there is no such file, and as `parse_dataset`.
Dataset load_dataset(const std::filesystem::path& file);

/// The sample of a task: `count` distinct candidates drawn uniformly from all valid ones, all of them where there are
/// no more. The same seed and space give the same sample; a smaller one is the beginning of a larger one.
std::vector<search::Candidate> draw_sample(const search::SpaceIndex& index, std::size_t count, const Task& task,
                                           std::uint64_t seed);

/// What `store` knows of the samples of these tasks, on this target and by this version; candidates without a record
/// are left out, and so are tasks without any. Throws what `TaskSpace` throws.
Dataset dataset_of(const store::Store& store, std::span<const Task> tasks, const target::Target& target,
                   std::size_t per_task, std::uint64_t seed);

}  // namespace temper::tune
