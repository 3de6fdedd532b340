// From a model file and the store to a plan that runs: shared by tune, build, run, bench and explain.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "temper/graph/plan_builder.h"
#include "temper/graph/tasks.h"
#include "temper/peers/work.h"
#include "temper/runtime/plan.h"
#include "temper/store/store.h"
#include "temper/support/cancellation.h"
#include "temper/target/cpu.h"
#include "temper/tune/lookup.h"
#include "temper/tune/model_layouts.h"
#include "temper/tune/task.h"

namespace temper::app {

/// Options that several commands share, declared once.
struct ModelOptions {
  std::string model;  ///< path; empty when `spec` is given
  std::string spec;
  std::vector<std::string> shapes;     ///< NAME=1,3,224,224
  std::vector<std::string> constants;  ///< NAME=FILE.npy
  std::vector<std::string> disabled_passes;
  std::string layouts = "measured";  ///< `tune::parse_layout_rule`
  int threads = 1;
  std::string db = "temper.db";
  double max_error = tune::kMaxError;  ///< of alternative algorithms, see `tune::Options::max_error`
};

/// Throws Error{InvalidArgument} when there is no such file.
void require_model(const std::string& path);

/// A model up to the choice of its layouts.
struct Model {
  graph::Graph graph;  ///< as `graph::optimise_before_layouts` left it
  std::set<std::string> disabled_passes;
  tune::ModelLayouts layouts;

  /// Its tasks with these layouts. Throws as `graph::program_with_layouts`.
  graph::Program program(const graph::Layouts& chosen) const;
};

/// Imports, fixes shapes and optimises. Throws what those and `tune::ModelLayouts` throw, and Error{InvalidArgument}
/// for a missing file or a bundle.
Model load_model(const ModelOptions& options);

/// The model as peers take it: the same constants bound.
peers::PeerWork peer_work(const ModelOptions& options);

/// The store of `--db`; null when the file is not there and `create` is false.
std::unique_ptr<store::Store> open_store(const std::string& path, bool create);

/// Where kernels come from, as TEMPER_TUNE says: default schedules alone, the records of a database, or also a search
/// for tasks that have none.
class Records {
 public:
  /// Opens the database, and makes it where a search may fill it. Throws what `tune::mode_from_environment` and
  /// `open_store` throw.
  Records(const std::string& path, double max_error, CancellationToken cancellation);
  /// The kernel of a task. Throws as `tune::artifact_on_demand`.
  tune::Built artifact(const tune::Task& task, const target::Target& target) const;
  /// The database; null where it is not used or not there.
  const store::Store* store() const { return store_.get(); }
  /// Why only default schedules are used; empty when records are.
  const std::string& note() const { return note_; }

 private:
  tune::Mode mode_;
  double max_error_;
  std::unique_ptr<store::Store> store_;
  CancellationToken cancellation_;
  std::string note_;
};

/// How one task of a plan is built.
struct TaskChoice {
  tune::Task task;
  std::optional<record::Record> record;  ///< absent: the default schedule
  std::string note;
};

struct BuiltModel {
  runtime::Plan plan;
  std::vector<TaskChoice> choices;  ///< as `program.tasks`
};

/// Compiles every task; `artifact_of` gives the kernel of one.
BuiltModel build_model(const graph::Program& program, const target::Target& target, int threads,
                       const std::function<tune::Built(const tune::Task&)>& artifact_of);
/// The same with the kernels of `records`.
BuiltModel build_model(const graph::Program& program, const target::Target& target, int threads,
                       const Records& records);

}  // namespace temper::app
