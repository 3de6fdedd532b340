// A task: one piece of work to tune, with its identity, its definitions and how often a model runs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "temper/graph/tasks.h"
#include "temper/ir/compute.h"
#include "temper/ops/workload.h"
#include "temper/record/record.h"
#include "temper/target/cpu.h"

namespace temper::tune {

/// Largest difference from the reference that an alternative's outputs may show unless the user says otherwise, over
/// the largest absolute output.
inline constexpr double kMaxError = 1e-4;

struct Task {
  std::string name;                            ///< for people: "conv2d(n=1,ic=64,...)", or the model's node
  record::TaskKey key;                         ///< identity; its last field is `threads`
  ir::Compute compute;                         ///< the reference definition
  std::vector<ops::Alternative> alternatives;  ///< other definitions of the same function, tuned under the same key
  double flops = 0;                            ///< of one run; 0: unknown
  double tolerance_factor = 16;  ///< c in |computed - exact| <= c · eps · magnitude, see `ops::tolerance_factor`
  int count = 1;                 ///< how many nodes of the model are this task
  int threads = 1;
  bool cold_constants = false;  ///< timed with constants outside of the caches; then the key says `constants=cold`
  std::uint64_t definition_hash = 0;  ///< structural hash of `compute`
};

/// The task of a workload. Throws Error{InvalidArgument} when `threads` or `count` is below 1.
Task make_task(const ops::Workload& workload, int threads, int count = 1);
/// The task of a definition of the user's own. `op` and `fields` name it in the database; `threads` is added.
Task make_task(std::string op, std::vector<std::pair<std::string, std::string>> fields, ir::Compute compute,
               int threads, int count = 1);
/// The task of a SPEC string, or of a key, whose `threads` and `constants` then count. Throws as `ops::parse_spec` and
/// `make_task`, and Error{InvalidArgument} for cold constants where there are none.
Task task_from_spec(std::string_view spec, int threads);
/// The same task with its constants outside of the caches before each timed call; itself when it has no constants.
Task with_cold_constants(Task task);
/// The tasks of a model, in the order of `program.tasks`; each is named for the first step that runs it. Where the
/// model's constants exceed the target's last cache, no run finds those of the run before: the tasks' constants are
/// cold.
std::vector<Task> tasks_from_model(const graph::Program& program, int threads, const target::Target& target);

}  // namespace temper::tune
