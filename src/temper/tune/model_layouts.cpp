#include "temper/tune/model_layouts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "temper/graph/structural_hash.h"
#include "temper/support/error.h"
#include "temper/support/hash.h"
#include "temper/tune/lookup.h"
#include "temper/tune/verdict.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

constexpr const char* kDesign = "layouts";
constexpr const char* kRaced = "race";  ///< what `Record::strategy` says for assignments that are not estimated

std::string knob_of(std::size_t chain) { return "c" + std::to_string(chain) + ".nchw"; }

int knob_value(ops::Layout layout) { return layout == ops::Layout::Nhwc ? 0 : layout == ops::Layout::Nchw ? 1 : 2; }

constexpr std::array<std::pair<std::string_view, LayoutRule>, 5> kRules{{{"measured", LayoutRule::Measured},
                                                                         {"estimated", LayoutRule::Estimated},
                                                                         {"nhwc", LayoutRule::Nhwc},
                                                                         {"nchw", LayoutRule::Nchw},
                                                                         {"blocked", LayoutRule::Blocks}}};

/// What a rule leaves of a choice.
void apply(graph::LayoutChoice& choice, std::size_t number, ops::Layout blocks, LayoutRule rule) {
  if (rule == LayoutRule::Measured) return;
  choice.rivals.clear();
  if (rule == LayoutRule::Estimated) return;
  choice.layout = rule == LayoutRule::Nhwc ? ops::Layout::Nhwc : rule == LayoutRule::Nchw ? ops::Layout::Nchw : blocks;
  if (rule == LayoutRule::Blocks && !choice.chain.no_blocks.empty()) {
    throw Error(ErrorCode::Unsupported,
                "chain c" + std::to_string(number) + " cannot be in blocks of channels: " + choice.chain.no_blocks,
                "--layouts blocked", "choose another layout, or let them be estimated");
  }
}

}  // namespace

std::optional<LayoutRule> parse_layout_rule(std::string_view text) {
  for (const auto& [name, rule] : kRules) {
    if (name == text) return rule;
  }
  return std::nullopt;
}

std::string layout_rule_names() {
  std::string names;
  for (const auto& [name, rule] : kRules) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

ops::Layout blocks_of(const target::Target& target) { return ops::blocked_layout(target.vector_bytes / 4); }

ModelLayouts::ModelLayouts(const graph::Graph& graph, const std::set<std::string>& disabled_passes, int threads,
                           ops::Layout blocks, LayoutRule rule) {
  if (disabled_passes.contains("layout")) return;
  choices_ = graph::choose_layouts(graph, blocks);
  for (std::size_t i = 0; i < choices_.size(); ++i) apply(choices_[i], i, blocks, rule);
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

bool ModelLayouts::has_rivals() const {
  return std::ranges::any_of(choices_, [](const graph::LayoutChoice& choice) { return !choice.rivals.empty(); });
}

LayoutAssignment ModelLayouts::with(const std::map<std::size_t, ops::Layout>& chains) const {
  LayoutAssignment assignment{{kDesign, {}}, graph::chosen_layouts(choices_)};
  for (const auto& [chain, layout] : chains) assignment.layouts[chain] = layout;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    if (!choices_[i].rivals.empty())
      assignment.candidate.knobs.emplace_back(knob_of(i), knob_value(assignment.layouts[i]));
  }
  return assignment;
}

std::vector<LayoutAssignment> ModelLayouts::candidates() const {
  std::vector<LayoutAssignment> candidates{with({})};
  std::map<std::size_t, ops::Layout> first;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    for (const ops::Layout rival : choices_[i].rivals) {
      candidates.push_back(with({{i, rival}}));
      first.emplace(i, rival);
    }
  }
  if (first.size() > 1) candidates.push_back(with(first));
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
  record.strategy = assignment.candidate == with({}).candidate ? kDefaultOrigin : kRaced;
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
