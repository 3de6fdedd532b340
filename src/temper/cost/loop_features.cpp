#include "temper/cost/loop_features.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "temper/cost/features.h"
#include "temper/support/error.h"

namespace temper::cost {
namespace {

using schedule::Annotation;

constexpr std::size_t kSerialLevels = 4;  ///< innermost loops that stay loops and are told one by one
constexpr double kPageBytes = 4096;       ///< addresses that far apart share a set of the first cache, too

constexpr std::array kTable{
    FeatureInfo{"lanes", "log2 of the lanes of the main statement's vector loop; 0: it has none"},
    FeatureInfo{"vectors", "log2 of the vector registers that these lanes take"},
    FeatureInfo{"lanes_in_use", "share of them that is not masked off"},
    FeatureInfo{"copies", "log2 of the unrolled copies that do not reduce"},
    FeatureInfo{"reduce_copies", "log2 of the unrolled copies that reduce"},
    FeatureInfo{"block_instructions", "log2 of the arithmetic instructions of the block"},
    FeatureInfo{"block_vector_loads", "log2 of the loads of consecutive elements in the block"},
    FeatureInfo{"block_broadcasts", "log2 of its loads of one element for all lanes"},
    FeatureInfo{"block_gathers", "log2 of its elements that are loaded one by one"},
    FeatureInfo{"block_stores", "log2 of its stores to memory"},
    FeatureInfo{"vector_loads_per_instruction", "loads of consecutive elements per arithmetic instruction"},
    FeatureInfo{"broadcasts_per_instruction", "loads of one element per arithmetic instruction"},
    FeatureInfo{"gathers_per_instruction", "elements loaded one by one per arithmetic instruction"},
    FeatureInfo{"stores_per_instruction", "stores to memory per arithmetic instruction"},
    FeatureInfo{"split_lines", "share of the vector loads and stores whose address is not always a multiple of a line"},
    FeatureInfo{"chains", "log2 of the independent chains of the reduction; 0: no reduction"},
    FeatureInfo{"chain_bound", "log2 of the cycles that a chain's latency takes over those that issuing takes"},
    FeatureInfo{"register_pressure", "vector registers that are alive over those that there are"},
    FeatureInfo{"live_vectors", "log2 of the vectors of register storages"},
    FeatureInfo{"live_scalars", "log2 of their single elements"},
    FeatureInfo{"serial_trips_1", "log2 of the iterations of the innermost loop"},
    FeatureInfo{"serial_trips_2", "the same of the loop around it"},
    FeatureInfo{"serial_trips_3", "the same of the third loop"},
    FeatureInfo{"serial_trips_4", "the same of the fourth loop"},
    FeatureInfo{"serial_reduces_1", "whether the innermost loop reduces"},
    FeatureInfo{"serial_reduces_2", "whether the loop around it does"},
    FeatureInfo{"serial_reduces_3", "whether the third loop does"},
    FeatureInfo{"serial_reduces_4", "whether the fourth loop does"},
    FeatureInfo{"serial_stride_1", "log2 of the bytes that a step of the innermost loop moves the fastest operand"},
    FeatureInfo{"serial_stride_2", "the same of the loop around it"},
    FeatureInfo{"touched_0", "log2 of the bytes of lines that the block touches"},
    FeatureInfo{"touched_1", "the same of the innermost loop"},
    FeatureInfo{"touched_2", "the same of the two innermost loops"},
    FeatureInfo{"touched_3", "the same of the three innermost loops"},
    FeatureInfo{"touched_4", "the same of the four innermost loops"},
    FeatureInfo{"touched_all", "log2 of the bytes of lines that the main statement touches at all"},
    FeatureInfo{"pages_1", "log2 of the pages that the innermost loop touches"},
    FeatureInfo{"pages_2", "the same of the two innermost loops"},
    FeatureInfo{"largest_share_1", "share of the largest operand in what the innermost loop touches"},
    FeatureInfo{"largest_share_2", "the same of the two innermost loops"},
    FeatureInfo{"conflicts_1", "log2 of the lines of one operand that the innermost loop puts into one set"},
    FeatureInfo{"conflicts_2", "the same of the two innermost loops"},
    FeatureInfo{"fits_l1", "log2 of the iterations of loops outside of what fits into the first cache"},
    FeatureInfo{"fits_l2", "the same for the second cache"},
    FeatureInfo{"fits_l3", "the same for the third cache"},
    FeatureInfo{"reuse_l1", "log2 of operations per byte that the first cache must get, by that"},
    FeatureInfo{"reuse_l2", "the same for the second cache"},
    FeatureInfo{"writes_in_reduction", "whether a reduce loop that stays a loop updates memory instead of registers"},
    FeatureInfo{"main_share", "share of the program's operations that the main statement does"},
    FeatureInfo{"stage_share", "share of them that all statements of its stage do"},
    FeatureInfo{"stage_statements", "log2 of the statements of its stage: segments that borders and tails make"},
    FeatureInfo{"statements", "log2 of all statements"},
    FeatureInfo{"copied_bytes", "log2 of the bytes that statements without operations write"},
    FeatureInfo{"other_writes", "log2 of the elements written to memory by other stages"},
    FeatureInfo{"scalar_work", "share of the operations outside of vector loops"},
    FeatureInfo{"code", "log2 of the instructions of all blocks"},
    FeatureInfo{"iterations", "log2 of the iterations of all loops that stay loops"},
    FeatureInfo{"iterations_per_instruction", "these over all arithmetic instructions"},
    FeatureInfo{"instructions", "log2 of the arithmetic instructions that are executed"},
    FeatureInfo{"fused_share", "share of multiply-adds among the operations"},
    FeatureInfo{"special_share", "share of exponentials and their like, and divisions"},
    FeatureInfo{"grain", "log2 of the operations of one parallel iteration"},
};

/// A statement's loops by what becomes of them.
struct Shape {
  std::size_t vector_loop;  ///< loops.size(): none
  double serial = 1, copies = 1, reduce_copies = 1, lanes = 1, vectors = 1, lanes_in_use = 1, iterations = 0;
  std::vector<std::size_t> serial_loops;  ///< those that turn, innermost first
  double instructions = 0;                ///< arithmetic, of the block

  Shape(const StatementFacts& statement, const target::Target& target) : vector_loop(statement.loops.size()) {
    double outer = 1;
    for (std::size_t i = 0; i < statement.loops.size(); ++i) {
      const LoopFacts& loop = statement.loops[i];
      if (loop.kind == Annotation::Vectorized) {
        vector_loop = i;
        lanes = std::max(1, loop.lanes);
        vectors = std::ceil(lanes * statement.element_bytes / target.vector_bytes);
        lanes_in_use = std::min(1.0, loop.trips / lanes);
      } else if (loop.kind == Annotation::Unrolled) {
        (loop.reduce ? reduce_copies : copies) *= loop.trips;
      } else {
        serial *= loop.trips;
        outer *= loop.trips;
        iterations += outer;
        if (loop.trips > 1) serial_loops.insert(serial_loops.begin(), i);
      }
    }
    instructions = copies * reduce_copies * vectors * statement.operations.total();
  }
};

/// Memory instructions of a block.
struct BlockLoads {
  double vector = 0, broadcast = 0, gather = 0, stores = 0, split = 0;

  BlockLoads(const StatementFacts& statement, const Shape& shape, const target::Target& target) {
    for (const AccessFacts& access : statement.accesses) {
      if (in_registers(access)) continue;
      double count = 1;
      bool aligned = true;
      for (std::size_t i = 0; i < statement.loops.size(); ++i) {
        if (access.strides[i] == 0 || i == shape.vector_loop) continue;
        if (statement.loops[i].kind == Annotation::Unrolled) count *= statement.loops[i].trips;
        aligned &= std::fmod(access.strides[i] * access.element_bytes, target.line_bytes) == 0;
      }
      const bool vectorised = shape.vector_loop < statement.loops.size();
      const double stride = vectorised ? std::abs(access.strides[shape.vector_loop]) : 0;
      if (vectorised && (!access.known || stride > 1)) {
        gather += count * shape.lanes;
      } else {
        if (stride == 1) count *= std::ceil(shape.lanes * access.element_bytes / target.vector_bytes);
        (access.write ? stores : stride == 1 ? vector : broadcast) += count;
        if (stride == 1 && !aligned) split += count;
      }
    }
  }
};

/// Pages that all operands touch while loops [first, end) run once.
double pages(const StatementFacts& statement, std::size_t first) {
  return Footprints(statement, kPageBytes).inside(first).bytes / kPageBytes;
}

/// The most lines of one operand that these loops put into one set of the first cache.
double conflicts(const StatementFacts& statement, std::size_t first) {
  double most = 1;
  for (const AccessFacts& access : statement.accesses) {
    if (in_registers(access)) continue;
    double same_set = 1;
    for (std::size_t i = first; i < statement.loops.size(); ++i) {
      const double step = std::abs(access.strides[i]) * access.element_bytes;
      if (step > 0 && std::fmod(step, kPageBytes) == 0) same_set *= statement.loops[i].trips;
    }
    most = std::max(most, same_set);
  }
  return most;
}

/// Sums over the statements that run each time.
struct Totals {
  double operations = 0, fused = 0, special = 0, scalar = 0, instructions = 0, iterations = 0, code = 0;
  double copied_bytes = 0, statements = 0, parallel_trips = 1;
  const StatementFacts* main = nullptr;

  Totals(const ProgramFacts& facts, const target::Target& target) {
    double most = -1;
    for (const PhaseFacts& phase : facts.phases) {
      if (phase.prepare) continue;
      parallel_trips = std::max(parallel_trips, phase.parallel_trips);
      for (const StatementFacts& statement : phase.statements) {
        const Shape shape(statement, target);
        const double executions = statement.executions(), work = executions * statement.operations.total();
        operations += work;
        fused += executions * statement.operations.fused;
        special += executions * (statement.operations.special + statement.operations.divide);
        if (shape.vector_loop == statement.loops.size()) scalar += work;
        instructions += shape.serial * shape.instructions;
        iterations += shape.iterations;
        code += shape.copies * shape.reduce_copies * shape.vectors *
                std::max(1.0, statement.operations.total() + static_cast<double>(statement.accesses.size()));
        if (statement.operations.total() == 0) copied_bytes += executions * statement.element_bytes;
        statements += 1;
        if (work > most) most = work, main = &statement;
      }
    }
  }
};

/// Writes the features one after another.
class Row {
 public:
  explicit Row(std::vector<double>& values) : values_(values) {}
  void put(double value) { values_.push_back(value); }
  void log(double value) { values_.push_back(log2_one_more(value)); }

 private:
  std::vector<double>& values_;
};

/// Cycles from one addition to a sum to the next, and how many are begun in a cycle: as in `analytic.cpp`, typical of
/// recent cores.
constexpr double kLatency = 4, kIssue = 2;

void main_features(Row& row, const StatementFacts& main, const target::Target& target) {
  const Shape shape(main, target);
  const BlockLoads loads(main, shape, target);
  const double instructions = std::max(shape.instructions, 1e-9);
  row.log(shape.vector_loop < main.loops.size() ? shape.lanes : 0);
  row.log(shape.vectors);
  row.put(shape.lanes_in_use);
  row.log(shape.copies);
  row.log(shape.reduce_copies);
  row.log(shape.instructions);
  row.log(loads.vector);
  row.log(loads.broadcast);
  row.log(loads.gather);
  row.log(loads.stores);
  const auto share = [&](double count) { return shape.instructions > 0 ? count / instructions : 0; };
  row.put(share(loads.vector));
  row.put(share(loads.broadcast));
  row.put(share(loads.gather));
  row.put(share(loads.stores));
  const double vector_accesses = loads.vector + loads.stores;
  row.put(vector_accesses > 0 ? loads.split / vector_accesses : 0);
  const bool update = main.kind == nest::Statement::Kind::Update;
  const double chains = update ? shape.copies * shape.vectors : 0;
  row.log(chains);
  row.put(update ? log2_one_more(kLatency * kIssue / std::max(1.0, chains)) : 0);
  const double vectors = main.live_vector_bytes / target.vector_bytes;
  row.put((vectors + main.live_scalars) / std::max(1, target.vector_registers));
  row.log(vectors);
  row.log(main.live_scalars);

  const auto loop_at = [&](std::size_t level) -> const LoopFacts* {
    return level < shape.serial_loops.size() ? &main.loops[shape.serial_loops[level]] : nullptr;
  };
  for (std::size_t level = 0; level < kSerialLevels; ++level) row.log(loop_at(level) ? loop_at(level)->trips : 1);
  for (std::size_t level = 0; level < kSerialLevels; ++level)
    row.put(loop_at(level) != nullptr && loop_at(level)->reduce ? 1 : 0);
  for (std::size_t level = 0; level < 2; ++level) {
    double stride = 0;
    for (const AccessFacts& access : main.accesses) {
      if (in_registers(access) || loop_at(level) == nullptr) continue;
      stride = std::max(stride, std::abs(access.strides[shape.serial_loops[level]]) * access.element_bytes);
    }
    row.log(stride);
  }

  // What lies inside the innermost `level` loops that turn: the loops behind the one around them.
  const auto inside = [&](std::size_t level) {
    return level < shape.serial_loops.size() ? shape.serial_loops[level] + 1 : 0;
  };
  Footprints footprints(main, target.line_bytes);
  for (std::size_t level = 0; level <= kSerialLevels; ++level) row.log(footprints.inside(inside(level)).bytes);
  row.log(footprints.inside(0).bytes);
  for (const std::size_t level : {1, 2}) row.log(pages(main, inside(level)));
  for (const std::size_t level : {1, 2}) {
    const Footprints::Touched& touched = footprints.inside(inside(level));
    row.put(touched.largest / std::max(1.0, touched.bytes));
  }
  for (const std::size_t level : {1, 2}) row.put(std::log2(conflicts(main, inside(level))));

  const double work = main.executions() * std::max(1.0, main.operations.total());
  std::array<double, 3> outside{}, reuse{};
  const std::array<double, 3> capacity{static_cast<double>(target.l1d_bytes), static_cast<double>(target.l2_bytes),
                                       static_cast<double>(target.l3_bytes)};
  for (std::size_t cache = 0; cache < capacity.size(); ++cache) {
    std::size_t first = 0;
    while (first < main.loops.size() && footprints.inside(first).bytes > capacity[cache]) ++first;
    outside[cache] = main.trips(0, first);
    reuse[cache] = work / std::max(1.0, outside[cache] * footprints.inside(first).bytes);
  }
  for (const double trips : outside) row.put(std::log2(std::max(1.0, trips)));
  row.log(reuse[0]);
  row.log(reuse[1]);

  bool through_memory = false;
  for (const AccessFacts& access : main.accesses) {
    if (in_registers(access) || !access.write || !update) continue;
    for (const std::size_t loop : shape.serial_loops) through_memory |= main.loops[loop].reduce;
  }
  row.put(through_memory ? 1 : 0);
}

}  // namespace

std::span<const FeatureInfo> loop_feature_table() { return kTable; }

std::vector<double> loop_features(const ProgramFacts& facts, const target::Target& target) {
  const Totals totals(facts, target);
  std::vector<double> result;
  result.reserve(kTable.size());
  if (totals.main == nullptr) return std::vector<double>(kTable.size(), 0.0);
  Row row(result);
  main_features(row, *totals.main, target);
  double stage_work = 0, stage_statements = 0, other_writes = 0;
  for (const PhaseFacts& phase : facts.phases) {
    if (phase.prepare) continue;
    for (const StatementFacts& statement : phase.statements) {
      if (statement.stage == totals.main->stage) {
        stage_work += statement.executions() * statement.operations.total();
        stage_statements += 1;
        continue;
      }
      for (const AccessFacts& access : statement.accesses) {
        if (access.write && !in_registers(access)) other_writes += statement.executions();
      }
    }
  }
  const double operations = std::max(1.0, totals.operations);
  row.put(totals.main->executions() * totals.main->operations.total() / operations);
  row.put(stage_work / operations);
  row.log(stage_statements);
  row.log(totals.statements);
  row.log(totals.copied_bytes);
  row.log(other_writes);
  row.put(totals.scalar / operations);
  row.log(totals.code);
  row.log(totals.iterations);
  row.put(totals.iterations / std::max(1.0, totals.instructions));
  row.log(totals.instructions);
  row.put(totals.fused / operations);
  row.put(totals.special / operations);
  row.log(totals.operations / totals.parallel_trips);
  TEMPER_CHECK(result.size() == kTable.size(), "the features of loops and their names differ");
  return result;
}

}  // namespace temper::cost
