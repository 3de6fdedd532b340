// What can be read off a loop program without running it: how often each statement runs, what it computes, and how its
// reads and writes move through memory as the loops around it advance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "temper/nest/program.h"

namespace temper::cost {

/// A loop around a statement, on average over its executions.
struct LoopFacts {
  schedule::Annotation kind = schedule::Annotation::Serial;
  bool reduce = false;
  double trips = 1;  ///< iterations; of a vectorised loop its lanes in use
  int lanes = 0;     ///< Vectorized: width, with the lanes that are masked off
};

/// One read or write of a statement.
struct AccessFacts {
  int storage = -1;
  nest::StorageKind kind{};
  bool write = false;
  double element_bytes = 4;
  double storage_bytes = 0;     ///< of the whole storage
  std::vector<double> strides;  ///< elements moved by one step of each loop around the statement; 0: not at all
  bool known = true;            ///< false: some index is not affine (gather)
};
inline bool in_registers(const AccessFacts& access) { return access.kind == nest::StorageKind::Register; }

/// Operations for one element.
struct OperationCounts {
  double fused = 0;    ///< multiply-adds
  double simple = 0;   ///< add, multiply, minimum, compare, select, ...
  double divide = 0;   ///< division and square root
  double special = 0;  ///< exponentials and their like
  double total() const { return fused + simple + divide + special; }
};

struct StatementFacts {
  nest::Statement::Kind kind{};
  int stage = -1;
  std::vector<LoopFacts> loops;  ///< outermost first
  std::vector<AccessFacts> accesses;
  OperationCounts operations;
  int element_bytes = 4;
  double live_vector_bytes = 0;  ///< register storages alive here whose elements are lanes of vectors
  double live_scalars = 0;       ///< elements of the other register storages: a register each

  double executions() const;  ///< of one element
  /// Product of the trips of loops [first, last).
  double trips(std::size_t first, std::size_t last) const;
};

struct PhaseFacts {
  bool prepare = false;
  double parallel_trips = 1;
  std::vector<StatementFacts> statements;
};

struct ProgramFacts {
  std::vector<PhaseFacts> phases;
  int bodies = 0;
  double workspace_bytes = 0;
};

/// `program` must have been built from `schedule`.
ProgramFacts program_facts(const nest::Program& program, const schedule::Schedule& schedule);

/// Bytes of cache lines that one access touches while loops [first, end) run once. Strides that overlap (a window that
/// slides) count once.
double footprint(const AccessFacts& access, std::span<const LoopFacts> loops, std::size_t first, double line_bytes);

/// What the accesses of a statement outside of registers touch, worked out once for each loop that is asked about.
class Footprints {
 public:
  struct Touched {
    double bytes = 0;    ///< of cache lines, sum over the accesses
    double largest = 0;  ///< the most of one access
  };
  Footprints(const StatementFacts& statement, double line_bytes)
      : statement_(statement), line_bytes_(line_bytes), known_(statement.loops.size() + 1) {}
  /// While loops [first, end) run once.
  const Touched& inside(std::size_t first);

 private:
  const StatementFacts& statement_;
  double line_bytes_;
  std::vector<std::optional<Touched>> known_;  ///< by `first`
};

}  // namespace temper::cost
