// Random search: every valid candidate is equally likely, none comes twice. The yardstick of all other strategies.
#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

class Random : public StrategyBase {
 public:
  explicit Random(const StrategyContext& context) : StrategyBase(context, "random", Refinement::None) {}

 protected:
  void propose(int) override {
    while (missing() > 0 && accept_random()) {
    }
  }
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Random>(context); }

}  // namespace

StrategyInfo random_strategy() {
  return {"random", "uniformly random valid candidates, without repetition", {}, make, false};
}

}  // namespace temper::search
