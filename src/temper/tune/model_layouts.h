// The layouts of a model's chains, as one more task: which assignments there are, what was measured of them, which is
// the best.
//
// The key is `layouts(model=HASH,threads=N)`, a candidate is an assignment of the chains that have rivals, and its time
// is that of the whole model:
//   layouts{c0.nchw=0,c3.nchw=1,c4.nchw=2}      chain 0 in NHWC, 3 in NCHW, 4 in blocks, all others as estimated
// The knob's name is that of its second value, which was there before the third: records of two layouts stay valid. The
// blocks are those that fill the vectors of the record's target. A chain has rivals where the estimate cannot tell its
// best layout (`graph/passes/layout_choice.h`). `temper tune`
// times the candidates against each other once their tasks are tuned; whoever builds the model then looks the best one
// up, as `best` in `tune/lookup.h` does for every task: the estimated layouts stay unless another assignment beats them
// beyond noise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/graph/passes/layout_choice.h"
#include "temper/record/record.h"
#include "temper/store/store.h"
#include "temper/target/cpu.h"

namespace temper::tune {

/// Who says which layout a chain has.
enum class LayoutRule : std::uint8_t {
  Measured,   ///< the best record of the model; the estimate where there is none
  Estimated,  ///< the estimate, and nothing is raced
  Nhwc,       ///< one layout for all chains
  Nchw,
  Blocks,
};
/// Of "measured", "estimated", "nhwc", "nchw" and "blocked"; nothing for another text.
std::optional<LayoutRule> parse_layout_rule(std::string_view text);
/// All of them: "measured, estimated, ...".
std::string layout_rule_names();

/// The layout in blocks that fill the vectors of a target with elements of 4 bytes.
ops::Layout blocks_of(const target::Target& target);

/// One way to store a model's activations.
struct LayoutAssignment {
  record::CandidateRecord candidate;  ///< names the rivals alone
  graph::Layouts layouts;             ///< of all chains
};

struct MeasuredLayouts {
  record::Record record;
  graph::Layouts layouts;
};

class ModelLayouts {
 public:
  /// A model without chains.
  ModelLayouts() = default;
  /// `graph`: as `graph::optimise_before_layouts` left it. `disabled_passes` changes what is measured, so it is part of
  /// the key; with "layout" among them there are no chains. `blocks`: what `blocks_of` the target says. Throws
  /// Error{Unsupported} that names a chain and a node where `rule` asks for blocks that the chain cannot have.
  ModelLayouts(const graph::Graph& graph, const std::set<std::string>& disabled_passes, int threads,
               ops::Layout blocks = graph::kWidestBlocks, LayoutRule rule = LayoutRule::Measured);

  const std::vector<graph::LayoutChoice>& choices() const { return choices_; }
  bool has_rivals() const;

  /// The estimated one first; then each chain alone in each of its rivals, and all chains in their first ones.
  std::vector<LayoutAssignment> candidates() const;

  /// What is stored of a candidate. The estimated one's strategy is `kDefaultOrigin`.
  record::Record record_of(const LayoutAssignment& assignment, const record::Measurement& measurement,
                           const target::Target& target) const;

  /// The best record of `store`; nothing when there is none, or no rival.
  std::optional<MeasuredLayouts> best(const store::Store& store, const target::Target& target) const;
  /// The layouts of the best record, the estimated ones where there is none. `store` may be null.
  graph::Layouts best_known(const store::Store* store, const target::Target& target) const;

 private:
  /// As estimated, but for these chains.
  LayoutAssignment with(const std::map<std::size_t, ops::Layout>& chains) const;

  std::vector<graph::LayoutChoice> choices_;
  record::TaskKey key_;
  std::uint64_t definition_hash_ = 0;  ///< of the graph and its chains
};

}  // namespace temper::tune
