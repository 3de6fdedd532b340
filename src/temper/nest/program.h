// The segmented loop program: what `nest` builds from a compute definition and a schedule.
//
// Loops have constant extents; a nest is cut into segments in which predicates and box sizes are constant. A statement
// says which stage's definition it carries out and the value of each of its axes, as affine forms of the loop
// variables; the expressions themselves stay in the stage definitions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "temper/analysis/affine.h"
#include "temper/schedule/schedule.h"

namespace temper::nest {

using analysis::Affine;
using analysis::Condition;
using analysis::Var;
using analysis::VarSpace;

/// A loop's dynamic bound: lower: var >= ceil(numerator / divisor); upper: var < floor(numerator / divisor) + 1.
struct Bound {
  Affine numerator;
  std::int64_t divisor = 1;
};

struct Node;

struct Loop {
  schedule::Annotation kind = schedule::Annotation::Serial;
  Var var = -1;
  std::int64_t begin = 0, end = 0;  ///< constant range; `lower` and `upper` may shrink it
  std::vector<Bound> lower, upper;
  int lanes = 0;  ///< Vectorized: vector width; lanes from `end` on are masked off
  bool reduce = false;
  std::vector<Node> body;
};

/// Values of several variables from one counter: the loop of a fused or parallel nest. Iterates over the product of the
/// extents, the last component fastest.
struct FusedLoop {
  schedule::Annotation kind = schedule::Annotation::Serial;
  struct Component {
    Var var;
    std::int64_t extent;
  };
  std::vector<Component> components;
  bool reduce = false;
  std::vector<Node> body;
};

/// Chooses a body by the value of `var`. Segments are in order and cover the variable's range.
struct Branch {
  Var var;
  struct Segment {
    std::int64_t begin, end;
    Var refined;  ///< equals `var`, with the segment's range
    std::vector<Node> body;
  };
  std::vector<Segment> segments;
};

/// A storage comes to life; it ends with the enclosing body.
struct Allocate {
  int storage;
};

struct Statement {
  enum class Kind : std::uint8_t {
    Init,    ///< storage := init value (lane partials: the identity)
    Update,  ///< storage := storage ⊕ body
    Finish,  ///< lane partials of a vectorised reduce loop are combined; the init value enters
    Define,  ///< storage := body
  };
  Kind kind{};
  int stage = -1;
  int storage = -1;
  std::vector<Affine> axes;           ///< spatial axes, then (Update) reduce axes
  std::vector<Condition> conditions;  ///< affine parts of `where`, and domain checks, that are not proved here
  std::vector<int> opaque;            ///< indices of `where` expressions that are not affine
  std::vector<std::pair<int, int>>
      reads;  ///< (stage, storage) for each stage that the definition reads, through inlined ones
};

/// The box [base, base + extent) of a storage will soon be read; of what begins there in memory only `lines` cache
/// lines from line `first` on, where `lines` is not 0. They may lie outside the storage: nothing is touched.
struct Prefetch {
  int storage = -1;
  std::vector<Affine> base;          ///< per axis
  std::vector<std::int64_t> extent;  ///< per axis
  Affine first;
  std::int64_t lines = 0;
};

struct Node {
  std::variant<Loop, FusedLoop, Branch, Allocate, Statement, Prefetch> value;
};

enum class StorageKind : std::uint8_t { Input, Constant, Output, Blob, Workspace, Local, Register };

struct StorageDim {
  int axis;
  std::int64_t divisor, modulus, extent, stride;
};

/// Where elements of one stage live: index - base, through the layout.
struct Storage {
  int stage = -1;
  StorageKind kind{};
  std::vector<Affine> base;           ///< per axis
  std::vector<std::int64_t> extents;  ///< per axis: indices [base, base + extent) may be touched
  std::vector<StorageDim> dims;       ///< outermost first
  std::int64_t elements = 0;          ///< of one component, gaps included; components follow each other
  int lane_partials = 0;              ///< Register: lanes of partial values held until Finish; 0 when none
};

struct Phase {
  bool prepare = false;
  int stage = -1;
  std::vector<Node> body;  ///< one FusedLoop of kind Parallel, or anything else (then it is one iteration)
};

/// One read of a stage's definition: index forms over the reader's axis variables; empty where the index is not affine.
struct ReadForm {
  int producer = -1;
  std::vector<std::optional<Affine>> index;
};

/// A stage's definition in affine terms, through inlined stages.
struct StageForms {
  std::vector<Var> axis_vars;         ///< spatial axes, then reduce axes
  std::vector<ReadForm> reads;        ///< without duplicates
  std::vector<int> producers;         ///< stages that body and conditions read, each once, through inlined stages
  std::vector<int> init_producers;    ///< stages that the initial values read
  std::vector<Condition> conditions;  ///< affine parts of `where`
  std::vector<int> opaque;            ///< `where` expressions that are not affine
  std::vector<Condition> choices;     ///< affine conditions of `select`: cuts of its own loops; none when too many
};

struct Program {
  VarSpace vars;
  std::vector<ir::StagePtr> stages;  ///< as in the schedule
  std::vector<bool> inlined;
  std::vector<StageForms> forms;  ///< of each stage; empty for placeholders and inlined stages
  std::vector<Storage> storages;
  std::vector<int> placeholders, outputs;  ///< stage indices, in the order of the definition
  std::vector<Phase> phases;
  int bodies = 0;  ///< innermost bodies after partition
};

/// Text for people and golden tests.
std::string print(const Program& program);

}  // namespace temper::nest
