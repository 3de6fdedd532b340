// Grid search over the numbered space: with a stride next to the golden section the candidates asked so far are always
// spread evenly over the whole space (a one-dimensional low-discrepancy sequence), and after `size` of them each came
// once.
#include <algorithm>
#include <optional>
#include <utility>

#include "temper/search/strategies/all.h"
#include "temper/search/strategy_base.h"

namespace temper::search {
namespace {

/// The largest partial quotient of the continued fraction of stride / size: the smaller it is, the more evenly
/// multiples of the stride fall modulo the size. Nothing when the two have a common factor.
std::optional<std::uint64_t> unevenness(std::uint64_t stride, std::uint64_t size) {
  std::uint64_t largest = 0;
  while (stride > 0) {
    // A last quotient of q stands for the two quotients q-1, 1.
    const std::uint64_t quotient = size / stride;
    largest = std::max(largest, size % stride == 0 ? quotient - 1 : quotient);
    size = std::exchange(stride, size % stride);
  }
  return size == 1 ? std::optional(largest) : std::nullopt;
}

/// A stride near the golden section of `size` that meets every number exactly once and as evenly as can be.
std::uint64_t even_stride(std::uint64_t size) {
  constexpr double kGoldenSection = 0.6180339887498949;
  constexpr std::uint64_t kNearby = 64;
  const std::uint64_t golden =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(size) * kGoldenSection));
  std::uint64_t best = 1, best_unevenness = size;
  for (std::uint64_t stride = golden; stride < std::min(size, golden + kNearby); ++stride) {
    const std::optional<std::uint64_t> own = unevenness(stride, size);
    if (own && *own < best_unevenness) best = stride, best_unevenness = *own;
  }
  return best;
}

class Grid : public StrategyBase {
 public:
  explicit Grid(const StrategyContext& context) : StrategyBase(context, "grid", Refinement::None) {
    const std::uint64_t size = index().size();
    if (size == 0) return;
    if (option("lexicographic") != 0) return;
    stride_ = even_stride(size);
    position_ = random().below(size);
  }

 protected:
  void propose(int) override {
    const std::uint64_t size = index().size();
    while (missing() > 0 && visited_ < size) {
      accept(index().at(position_));
      // position + stride modulo size, without overflow.
      const std::uint64_t step = stride_ % size;
      position_ = position_ >= size - step ? position_ - (size - step) : position_ + step;
      ++visited_;
    }
  }

 private:
  std::uint64_t position_ = 0, stride_ = 1, visited_ = 0;
};

std::unique_ptr<Strategy> make(const StrategyContext& context) { return std::make_unique<Grid>(context); }

}  // namespace

StrategyInfo grid_strategy() {
  return {"grid",
          "every valid candidate once, spread evenly over the space",
          {{"lexicographic", 0, 0, 1, "1: in plain order from the first candidate, for exhausting small spaces", true}},
          make,
          false};
}

}  // namespace temper::search
