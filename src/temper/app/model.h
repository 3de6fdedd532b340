// From a model file and the store to a plan that runs: shared by tune, build, run, bench and explain.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "temper/graph/plan_builder.h"
#include "temper/graph/tasks.h"
#include "temper/runtime/plan.h"
#include "temper/store/store.h"
#include "temper/target/cpu.h"
#include "temper/tune/lookup.h"
#include "temper/tune/task.h"

namespace temper::app {

/// Options that several commands share, declared once.
struct ModelOptions {
  std::string model;  ///< path; empty when `spec` is given
  std::string spec;
  std::vector<std::string> shapes;  ///< NAME=1,3,224,224
  std::vector<std::string> disabled_passes;
  int threads = 1;
  std::string db = "temper.db";
};

/// Imports, fixes shapes, optimises and extracts tasks. Throws what those throw; a missing file is NotFound.
graph::Program load_program(const ModelOptions& options);

/// The store of `--db`; null when the file is not there and `create` is false.
std::unique_ptr<store::Store> open_store(const std::string& path, bool create);

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

/// Compiles every task with its best record (mode Cached) or its default schedule.
BuiltModel build_model(const graph::Program& program, const store::Store* store, const target::Target& target,
                       int threads, tune::Mode mode);

}  // namespace temper::app
