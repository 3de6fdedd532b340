#include "temper/tune/model_layouts.h"

#include <algorithm>

#include "temper/graph/structural_hash.h"
#include "temper/support/hash.h"
#include "temper/tune/lookup.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

constexpr const char* kDesign = "layouts";
constexpr const char* kRaced = "race";  ///< what `Record::strategy` says for assignments that are not estimated

std::string knob_of(std::size_t chain) { return "c" + std::to_string(chain) + ".nchw"; }

ops::Layout other(ops::Layout layout) { return layout == ops::Layout::Nhwc ? ops::Layout::Nchw : ops::Layout::Nhwc; }

}  // namespace

ModelLayouts::ModelLayouts(const graph::Graph& graph, const std::set<std::string>& disabled_passes, int threads) {
  if (disabled_passes.contains("layout")) return;
  choices_ = graph::choose_layouts(graph);
  std::uint64_t model = graph::structural_hash(graph);
  for (const std::string& pass : disabled_passes) model = hash_combine(model, hash_text(pass));
  key_ = {kDesign, {{"model", to_hex(model)}, {"threads", std::to_string(threads)}}};
  definition_hash_ = model;
  for (const graph::LayoutChoice& choice : choices_) {
    definition_hash_ = hash_combine(definition_hash_, choice.chain.nodes.size());
    for (const int node : choice.chain.nodes)
      definition_hash_ = hash_combine(definition_hash_, static_cast<std::uint64_t>(node));
  }
}

bool ModelLayouts::has_rivals() const { return std::ranges::any_of(choices_, &graph::LayoutChoice::rival); }

LayoutAssignment ModelLayouts::with_others(const std::set<std::size_t>& chains) const {
  LayoutAssignment assignment{{kDesign, {}}, graph::chosen_layouts(choices_)};
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (chains.contains(i)) assignment.layouts[i] = other(assignment.layouts[i]);
    if (choices_[i].rival)
      assignment.candidate.knobs.emplace_back(knob_of(i), assignment.layouts[i] == ops::Layout::Nchw ? 1 : 0);
  }
  return assignment;
}

std::vector<LayoutAssignment> ModelLayouts::candidates() const {
  std::vector<LayoutAssignment> candidates{with_others({})};
  std::set<std::size_t> rivals;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (!choices_[i].rival) continue;
    candidates.push_back(with_others({i}));
    rivals.insert(i);
  }
  if (rivals.size() > 1) candidates.push_back(with_others(rivals));
  return candidates;
}

record::Record ModelLayouts::record_of(const LayoutAssignment& assignment, const record::Measurement& measurement,
                                       const target::Target& target) const {
  record::Record record;
  record.task = key_;
  record.definition_hash = definition_hash_;
  record.target = target::fingerprint(target);
  record.temper_version = version();
  record.candidate = assignment.candidate;
  record.measurement = measurement;
  record.strategy = assignment.candidate == with_others({}).candidate ? kDefaultOrigin : kRaced;
  return record;
}

std::optional<MeasuredLayouts> ModelLayouts::best(const store::Store& store, const target::Target& target) const {
  if (!has_rivals()) return std::nullopt;
  std::optional<record::Record> record = tune::best(store, key_, definition_hash_, target);
  if (!record) return std::nullopt;
  // A record of another estimate may name other rivals.
  for (LayoutAssignment& candidate : candidates()) {
    if (candidate.candidate == record->candidate) return MeasuredLayouts{*record, std::move(candidate.layouts)};
  }
  return std::nullopt;
}

graph::Layouts ModelLayouts::best_known(const store::Store* store, const target::Target& target) const {
  if (store != nullptr) {
    if (std::optional<MeasuredLayouts> measured = best(*store, target)) return std::move(measured->layouts);
  }
  return graph::chosen_layouts(choices_);
}

}  // namespace temper::tune
