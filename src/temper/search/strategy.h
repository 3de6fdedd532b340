// Search strategies: ask for candidates, tell their measurements. Stateless about hardware; deterministic: the same
// seed and the same answers give the same candidates.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/search/enumeration.h"
#include "temper/search/options.h"
#include "temper/search/space.h"

namespace temper::search {

/// Share of a budget after which strategies refine the best.
inline constexpr double kRefineFrom = 0.9;

struct Told {
  Candidate candidate;
  bool ok = false;
  double seconds = 0;  ///< meaningful when `ok`
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `count` distinct valid candidates that were never returned nor told before; fewer, or none, when the space
  /// is exhausted.
  virtual std::vector<Candidate> ask(int count) = 0;
  /// Measurements, of candidates that were asked for or of others (records of an earlier run). A result for the same
  /// candidate may come twice; the last one counts.
  virtual void tell(std::span<const Told> results) = 0;
  /// How much of the budget is spent, from 0 to 1, whatever it is counted in; call it before `ask`. From `kRefineFrom`
  /// on a strategy stops exploring: what it asks for then are neighbours and mutations of the best that were measured.
  /// One that cannot says so (`StrategyInfo::refines`) and ignores it.
  virtual void set_progress(double /*fraction*/) {}
};

/// What is believed of candidates before any of them is measured, learned from other measurements: of another device,
/// of another shape.
class Prior {
 public:
  virtual ~Prior() = default;
  /// Expected logarithms of seconds, up to an addend that all candidates share. Finite.
  virtual std::vector<double> log_seconds(std::span<const Candidate> candidates) = 0;
};

/// What a strategy is made of. The pointers are borrowed and must outlive the strategy.
struct StrategyContext {
  const Space* space = nullptr;
  const SpaceIndex* index = nullptr;  ///< of `space`; may be null: then the strategy enumerates the space itself
  Scorer* scorer = nullptr;           ///< may be null: then strategies work without a model
  Prior* prior = nullptr;  ///< may be null; for those that learn a model of the knobs, which then learns what it misses
  std::uint64_t seed = 0;
  OptionValues options = {};  ///< overrides of declared options; `StrategyInfo::make` gets them complete
};

struct StrategyInfo {
  std::string name;
  std::string doc;
  std::vector<Option> options;
  std::unique_ptr<Strategy> (*make)(const StrategyContext&);
  bool refines = true;  ///< obeys `Strategy::set_progress` at the end of a budget
};
/// The one table of strategies; the first one is the default.
std::span<const StrategyInfo> strategies();
/// Throws Error{InvalidArgument} that lists the known names, or that an option is unknown or out of bounds.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyContext& context);
/// The strategy that is used when none is named.
inline constexpr std::string_view kDefaultStrategy = "evolutionary";

}  // namespace temper::search
