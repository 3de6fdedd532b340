// The layouts of a model's chains, as one more task: which assignments there are, what was measured of them, which is
// the best.
//
// The key is `layouts(model=HASH,threads=N)`, a candidate is an assignment of the rivals, and its time is that of the
// whole model:
//   layouts{c0.nchw=0,c3.nchw=1}      chain 0 in NHWC, chain 3 in NCHW, all others as estimated
// A chain is a rival where the estimate cannot tell its better layout (`graph/passes/layout_choice.h`). `temper tune`
// times the candidates against each other once their tasks are tuned; whoever builds the model then looks the best one
// up, as `best` in `tune/lookup.h` does for every task: the estimated layouts stay unless another assignment beats them
// beyond noise.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "temper/graph/passes/layout_choice.h"
#include "temper/record/record.h"
#include "temper/store/store.h"
#include "temper/target/cpu.h"

namespace temper::tune {

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
  /// the key; with "layout" among them there are no chains.
  ModelLayouts(const graph::Graph& graph, const std::set<std::string>& disabled_passes, int threads);

  const std::vector<graph::LayoutChoice>& choices() const { return choices_; }
  bool has_rivals() const;

  /// The estimated one first; then each rival alone in its other layout, and all rivals in theirs.
  std::vector<LayoutAssignment> candidates() const;

  /// What is stored of a candidate. The estimated one's strategy is `kDefaultOrigin`.
  record::Record record_of(const LayoutAssignment& assignment, const record::Measurement& measurement,
                           const target::Target& target) const;

  /// The best record of `store`; nothing when there is none, or no rival.
  std::optional<MeasuredLayouts> best(const store::Store& store, const target::Target& target) const;
  /// The layouts of the best record, the estimated ones where there is none. `store` may be null.
  graph::Layouts best_known(const store::Store* store, const target::Target& target) const;

 private:
  LayoutAssignment with_others(const std::set<std::size_t>& chains) const;

  std::vector<graph::LayoutChoice> choices_;
  record::TaskKey key_;
  std::uint64_t definition_hash_ = 0;  ///< of the graph and its chains
};

}  // namespace temper::tune
