// Temper in C++, as one header: define what is computed, say how it may be built, tune it on this machine, keep what
// was found, and run it. Programs that only run tuned models use `temper/runtime.h` (C) and link the runtime alone.
//
//   definition   ir/compute.h        tensors, reducers and stages; `define(...)`, `make_compute(...)`
//   judge        ir/oracle.h         evaluates a definition element by element
//   operators    ops/spec.h          SPEC strings; ops/workload.h: operators with fixed sizes
//   schedule     schedule/schedule.h how a definition is carried out; schedule/trace.h: as text that replays
//   templates    space/template.h    C++ functions over a schedule that declare knobs
//   strategies   search/strategy.h   the table of search strategies and their options; or one of your own
//   cost models  cost/cost_model.h   the table of models that learn; or one of your own
//   comparing    search/comparison.h strategies on spaces whose times are known; space/recorded/ reads such spaces
//   tuning       tune/task.h         what to tune; tune/tune.h: the loop, its budgets, events (tune/event.h) and
//   report;
//                                    support/cancellation.h stops it; tune/lookup.h: the stored winner as code
//   records      store/sqlite_store.h and store/json_lines.h: the database, and history files as JSON Lines
//   models       graph/onnx_import.h, graph/pipeline.h, graph/plan_builder.h: ONNX model → tasks → plan
//   running      runtime/kernel_instance.h: one kernel; runtime/executor.h and runtime/bundle.h: a plan
//
// Every function says which `temper::Error`s it throws (support/error.h). Link `temper::tune`, of the CMake package
// `temper`, component `tuner`.
#pragma once

#include "temper/cost/cost_model.h"
#include "temper/graph/onnx_import.h"
#include "temper/graph/pipeline.h"
#include "temper/graph/plan_builder.h"
#include "temper/ir/compute.h"
#include "temper/ir/oracle.h"
#include "temper/ops/spec.h"
#include "temper/ops/workload.h"
#include "temper/runtime/bundle.h"
#include "temper/runtime/executor.h"
#include "temper/runtime/kernel_instance.h"
#include "temper/schedule/schedule.h"
#include "temper/schedule/trace.h"
#include "temper/search/comparison.h"
#include "temper/search/strategy.h"
#include "temper/space/template.h"
#include "temper/store/json_lines.h"
#include "temper/store/sqlite_store.h"
#include "temper/support/cancellation.h"
#include "temper/support/error.h"
#include "temper/target/cpu.h"
#include "temper/tune/event.h"
#include "temper/tune/lookup.h"
#include "temper/tune/task.h"
#include "temper/tune/tune.h"
