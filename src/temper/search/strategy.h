// Search strategies: ask for candidates, tell their measurements. Stateless about hardware; deterministic: the same seed
// and the same answers give the same candidates.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/search/space.h"

namespace temper::search {

/// Declared once; the command line, help, JSON and checks are made from it.
struct Option {
  std::string name;
  double default_value = 0, min = 0, max = 0;
  std::string doc;
};

struct Told {
  Candidate candidate;
  bool ok = false;
  double seconds = 0;  ///< meaningful when `ok`
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Up to `count` distinct valid candidates that were never returned nor told before; fewer, or none, when the space is exhausted.
  virtual std::vector<Candidate> ask(int count) = 0;
  virtual void tell(std::span<const Told> results) = 0;
};

struct StrategyContext {
  const Space* space = nullptr;
  Scorer* scorer = nullptr;  ///< may be null: then strategies work without a model
  std::uint64_t seed = 0;
  std::map<std::string, double> options;  ///< overrides of declared options
};

struct StrategyInfo {
  std::string name;
  std::string doc;
  std::vector<Option> options;
  std::unique_ptr<Strategy> (*make)(const StrategyContext&);
};
/// The one table of strategies.
std::span<const StrategyInfo> strategies();
/// Throws Error{InvalidArgument} that lists the known names, or that an option is unknown or out of bounds.
std::unique_ptr<Strategy> make_strategy(std::string_view name, const StrategyContext& context);

}  // namespace temper::search
