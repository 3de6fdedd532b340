#include "temper/cost/analytic.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "temper/cost/loop_features.h"
#include "temper/nest/build.h"
#include "temper/support/error.h"

namespace temper::cost {
namespace {

using schedule::Annotation;

/// What target detection does not know, as cycles: typical of recent x86-64 cores. They shift predictions, the ranking
/// hardly.
struct CoreModel {
  double arithmetic_per_cycle = 2;  ///< vector instructions
  double latency = 4;               ///< of a multiply-add
  double memory_latency = 5;        ///< more, where an accumulator goes through memory
  double divide_cycles = 8;         ///< a vector
  double special_cycles = 10;       ///< a vector: range reduction and a polynomial
  double loads_per_cycle = 2;
  double stores_per_cycle = 1;
  double loop_cycles = 1;         ///< of an iteration of a loop that stays one
  double parallel_cycles = 5000;  ///< to start and join threads
  double l2_bytes_per_cycle = 32, l3_bytes_per_cycle = 20, memory_bytes_per_cycle = 6;
  double cache_share = 0.75;  ///< of a cache that a footprint may fill before it loses lines to others and to conflicts
  double overlap = 0.25;      ///< share of the lesser bounds that adds to the greatest one
  double clock = 3e9;
};

constexpr std::array kTable{
    FeatureInfo{"arithmetic_cycles", "log2 of the cycles that arithmetic takes, issue and latency"},
    FeatureInfo{"load_cycles", "log2 of the cycles that loads take, after what unrolling keeps in registers"},
    FeatureInfo{"store_cycles", "log2 of the cycles that stores take"},
    FeatureInfo{"loop_cycles", "log2 of the cycles that loops take which stay loops"},
    FeatureInfo{"spill_cycles", "log2 of the cycles that vectors without a register take"},
    FeatureInfo{"l2_bytes", "log2 of the bytes that come from the second cache"},
    FeatureInfo{"l3_bytes", "log2 of the bytes that come from the third cache"},
    FeatureInfo{"memory_bytes", "log2 of the bytes that come from memory"},
    FeatureInfo{"bound_by_arithmetic", "share of arithmetic in the three bounds of a roofline"},
    FeatureInfo{"bound_by_loads", "share of loads, stores and spills in them"},
    FeatureInfo{"bound_by_traffic", "share of traffic between caches in them"},
    FeatureInfo{"accumulators", "log2 of the independent chains of the heaviest reduction"},
    FeatureInfo{"registers", "log2 of the registers of the statement that wants most"},
    FeatureInfo{"block", "log2 of the instructions of the largest unrolled body"},
    FeatureInfo{"gathers", "log2 of the elements that are loaded one by one"},
    FeatureInfo{"bodies", "log2 of the copies of statements that the program has"},
    FeatureInfo{"parallel_trips", "log2 of the iterations that threads may share"},
    FeatureInfo{"imbalance", "time of the busiest thread over the mean"},
    FeatureInfo{"workspace_bytes", "log2 of the bytes between stages"},
    FeatureInfo{"vector_efficiency", "share of the lanes that are paid for which do work"},
};

/// Cycles and traffic of one statement, over the whole run of the program on one core.
struct StatementCost {
  double arithmetic = 0, loads = 0, stores = 0, overhead = 0, spills = 0;
  std::array<double, 3> traffic{};  ///< bytes that pass L1, L2 and L3
  double accumulators = 0;          ///< independent chains of a reduction; 0: no reduction
  double registers = 0;
  double block = 0;  ///< instructions of the unrolled body
  double gathers = 0;
};

class Analyser {
 public:
  Analyser(const target::Target& target, const CoreModel& core) : target_(target), core_(core) {}

  StatementCost cost(const StatementFacts& statement) const {
    StatementCost result;
    const std::vector<LoopFacts>& loops = statement.loops;
    // The block: everything inside the innermost loop that stays a loop.
    std::size_t block = loops.size();
    while (block > 0 && unrolled(loops[block - 1])) --block;
    double serial = 1, copies = 1, lanes = 1, vectors = 1;
    std::size_t vector_loop = loops.size();
    for (std::size_t i = 0; i < loops.size(); ++i) {
      if (loops[i].kind == Annotation::Vectorized) {
        vector_loop = i;
        lanes = loops[i].lanes;
        vectors = std::ceil(lanes * statement.element_bytes / target_.vector_bytes);
      } else if (loops[i].kind == Annotation::Unrolled) {
        copies *= loops[i].trips;
      } else {
        serial *= loops[i].trips;
      }
    }
    const double instructions = serial * copies * vectors;

    const OperationCounts& ops = statement.operations;
    result.arithmetic = instructions * ((ops.fused + ops.simple) / core_.arithmetic_per_cycle +
                                        ops.divide * core_.divide_cycles + ops.special * core_.special_cycles);
    const bool update = statement.kind == nest::Statement::Kind::Update;
    bool through_memory = false;
    for (const AccessFacts& access : statement.accesses)
      through_memory |= update && access.write && !in_registers(access);
    if (update) {
      // Chains: copies that do not reduce, and vectors. Each needs `latency` cycles from one update to the next.
      double chains = vectors;
      for (std::size_t i = block; i < loops.size(); ++i) {
        if (loops[i].kind == Annotation::Unrolled && !loops[i].reduce) chains *= loops[i].trips;
      }
      result.accumulators = chains;
      const double latency = core_.latency + (through_memory ? core_.memory_latency : 0);
      result.arithmetic =
          std::max(result.arithmetic, instructions / chains * latency * std::max(1.0, ops.fused + ops.simple));
    }

    for (const AccessFacts& access : statement.accesses) {
      if (in_registers(access)) continue;
      // Copies that the access does not depend on share one load; a vector loads at once what lies together.
      double count = serial;
      for (std::size_t i = 0; i < loops.size(); ++i) {
        if (loops[i].kind == Annotation::Unrolled && access.strides[i] != 0) count *= loops[i].trips;
      }
      if (vector_loop < loops.size()) {
        const double stride = std::abs(access.strides[vector_loop]);
        if (!access.known || stride > 1) {
          count *= lanes;
          result.gathers += count;
        } else if (stride == 1) {
          count *= std::ceil(lanes * access.element_bytes / target_.vector_bytes);
        }
      }
      (access.write ? result.stores : result.loads) +=
          count / (access.write ? core_.stores_per_cycle : core_.loads_per_cycle);
      result.block += count / serial;
    }
    result.block += copies * vectors * ops.total();

    result.registers =
        statement.live_vector_bytes / target_.vector_bytes + statement.live_scalars + operand_registers(statement);
    const double excess = result.registers - target_.vector_registers;
    if (excess > 0 && update)
      result.spills = serial * excess * (1 / core_.loads_per_cycle + 1 / core_.stores_per_cycle);

    double iterations = 1;
    for (const LoopFacts& loop : loops) {
      if (unrolled(loop)) continue;
      iterations *= loop.trips;
      result.overhead += iterations * core_.loop_cycles;
    }
    const std::array<double, 3> capacity{static_cast<double>(target_.l1d_bytes), static_cast<double>(target_.l2_bytes),
                                         static_cast<double>(target_.l3_bytes)};
    Footprints footprints(statement, target_.line_bytes);
    for (std::size_t level = 0; level < capacity.size(); ++level) {
      // A level that is not there passes on what the one before it lets through.
      result.traffic[level] = capacity[level] > 0 ? traffic(statement, footprints, capacity[level])
                              : level > 0         ? result.traffic[level - 1]
                                                  : 0;
    }
    return result;
  }

 private:
  static bool unrolled(const LoopFacts& loop) {
    return loop.kind == Annotation::Unrolled || loop.kind == Annotation::Vectorized;
  }

  /// Vectors of the operands of one step: those loaded for the copies that do not reduce, the smaller operand streams.
  double operand_registers(const StatementFacts& statement) const {
    double widest = 0;
    for (const AccessFacts& access : statement.accesses) {
      if (in_registers(access) || access.write) continue;
      double count = 1;
      for (std::size_t i = 0; i < statement.loops.size(); ++i) {
        const LoopFacts& loop = statement.loops[i];
        if (access.strides[i] == 0 || loop.reduce) continue;
        if (loop.kind == Annotation::Unrolled) count *= loop.trips;
        if (loop.kind == Annotation::Vectorized) {
          count *= std::ceil(static_cast<double>(loop.lanes) * access.element_bytes / target_.vector_bytes);
        }
      }
      widest = widest == 0 ? count : std::min(widest, count);
    }
    return widest + 1;
  }

  /// Bytes that come into a cache of `capacity` from beyond; 0 when everything fits and stays there from run to run.
  double traffic(const StatementFacts& statement, Footprints& footprints, double capacity) const {
    const std::vector<LoopFacts>& loops = statement.loops;
    std::size_t fitting = 0;
    while (fitting < loops.size() && footprints.inside(fitting).bytes > core_.cache_share * capacity) ++fitting;
    if (fitting == 0) return 0;
    // The nearest loop outside that turns at all: from one of its iterations to the next, an access finds again what
    // both touch (all of it when the loop does not move it, a neighbouring line, the overlap of a window).
    std::size_t outside = fitting - 1;
    while (outside > 0 && loops[outside].trips <= 1) --outside;
    return statement.trips(0, outside) * footprints.inside(outside).bytes;
  }

  const target::Target& target_;
  const CoreModel& core_;
};

}  // namespace

std::span<const FeatureInfo> analytic_feature_table() { return kTable; }

const std::vector<std::string>& analytic_features() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const FeatureInfo& feature : analytic_feature_table()) all.emplace_back(feature.name);
    for (const FeatureInfo& feature : loop_feature_table()) all.emplace_back(feature.name);
    return all;
  }();
  return names;
}

Analysis analyse(const nest::Program& program, const schedule::Schedule& schedule, const target::Target& target,
                 int threads) {
  TEMPER_CHECK(threads >= 1, "a program runs on at least one thread");
  const CoreModel core;
  const Analyser analyser(target, core);
  const ProgramFacts facts = program_facts(program, schedule);
  StatementCost sum;
  double cycles = 0, bound_arithmetic = 0, bound_loads = 0, bound_traffic = 0, parallel_trips = 0, imbalance = 1;
  double accumulators = 0, heaviest = 0, lanes_used = 0, lanes_paid = 0;
  for (const PhaseFacts& phase : facts.phases) {
    if (phase.prepare) continue;
    double phase_cycles = 0;
    for (const StatementFacts& statement : phase.statements) {
      const StatementCost cost = analyser.cost(statement);
      const double moved = cost.traffic[0] / core.l2_bytes_per_cycle + cost.traffic[1] / core.l3_bytes_per_cycle +
                           cost.traffic[2] / core.memory_bytes_per_cycle;
      const std::array<double, 3> bounds{cost.arithmetic, cost.loads + cost.stores + cost.spills, moved};
      const double greatest = *std::max_element(bounds.begin(), bounds.end());
      const double all = bounds[0] + bounds[1] + bounds[2];
      const double own = greatest + core.overlap * (all - greatest) + core.overlap * cost.overhead;
      phase_cycles += own;
      bound_arithmetic += bounds[0], bound_loads += bounds[1], bound_traffic += bounds[2];
      sum.arithmetic += cost.arithmetic, sum.loads += cost.loads, sum.stores += cost.stores,
          sum.overhead += cost.overhead;
      sum.spills += cost.spills, sum.gathers += cost.gathers;
      for (std::size_t level = 0; level < 3; ++level) sum.traffic[level] += cost.traffic[level];
      sum.registers = std::max(sum.registers, cost.registers);
      sum.block = std::max(sum.block, cost.block);
      if (own > heaviest && cost.accumulators > 0) heaviest = own, accumulators = cost.accumulators;
      const double paid_share = [&] {
        for (const LoopFacts& loop : statement.loops) {
          if (loop.kind == Annotation::Vectorized)
            return std::ceil(loop.lanes * statement.element_bytes / static_cast<double>(target.vector_bytes)) *
                   target.vector_bytes / statement.element_bytes / std::max(1.0, loop.trips);
        }
        return static_cast<double>(target.vector_bytes) / statement.element_bytes;
      }();
      const double work = statement.executions() * statement.operations.total();
      lanes_used += work, lanes_paid += work * paid_share;
    }
    const double workers = std::min<double>(threads, phase.parallel_trips);
    const double uneven = std::ceil(phase.parallel_trips / workers) * workers / phase.parallel_trips;
    imbalance = std::max(imbalance, uneven);
    parallel_trips = std::max(parallel_trips, phase.parallel_trips);
    cycles += phase_cycles / workers * uneven + (workers > 1 ? core.parallel_cycles : 0);
  }
  Analysis analysis;
  // The clock follows from a measured peak where there is one: two multiply-adds a cycle on full vectors.
  const double clock =
      target.peak_flops_per_second > 0 ? target.peak_flops_per_second / (target.vector_bytes / 4.0 * 4.0) : core.clock;
  analysis.seconds = std::max(cycles, 1.0) / clock;
  const double bounds = std::max(bound_arithmetic + bound_loads + bound_traffic, 1e-9);
  analysis.features = {log2_one_more(sum.arithmetic),
                       log2_one_more(sum.loads),
                       log2_one_more(sum.stores),
                       log2_one_more(sum.overhead),
                       log2_one_more(sum.spills),
                       log2_one_more(sum.traffic[0]),
                       log2_one_more(sum.traffic[1]),
                       log2_one_more(sum.traffic[2]),
                       bound_arithmetic / bounds,
                       bound_loads / bounds,
                       bound_traffic / bounds,
                       log2_one_more(accumulators),
                       log2_one_more(sum.registers),
                       log2_one_more(sum.block),
                       log2_one_more(sum.gathers),
                       log2_one_more(facts.bodies),
                       log2_one_more(parallel_trips),
                       imbalance,
                       log2_one_more(facts.workspace_bytes),
                       lanes_paid > 0 ? lanes_used / lanes_paid : 1};
  const std::vector<double> loops = loop_features(facts, target);
  analysis.features.insert(analysis.features.end(), loops.begin(), loops.end());
  TEMPER_CHECK(analysis.features.size() == analytic_features().size(),
               "the analytic model's features and their names differ");
  return analysis;
}

Analyse schedule_analysis(Materialise materialise, target::Target target, int threads) {
  return
      [materialise = std::move(materialise), target = std::move(target), threads](const search::Candidate& candidate) {
        const auto refused = [] {
          Analysis analysis;
          analysis.buildable = false;
          return analysis;
        };
        try {
          const schedule::Schedule schedule = materialise(candidate);
          return analyse(nest::build(schedule), schedule, target, threads);
        } catch (const schedule::ScheduleError&) {
          return refused();
        } catch (const Error& error) {
          if (error.code() != ErrorCode::Unsupported) throw;
          return refused();
        }
      };
}

std::vector<Fact> target_facts(const target::Target& target, int threads) {
  return {{"vector_bytes", target.vector_bytes},
          {"vector_registers", target.vector_registers},
          {"l1d_bytes", static_cast<double>(target.l1d_bytes)},
          {"l2_bytes", static_cast<double>(target.l2_bytes)},
          {"l3_bytes", static_cast<double>(target.l3_bytes)},
          {"threads", threads}};
}

}  // namespace temper::cost
