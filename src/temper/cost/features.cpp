#include "temper/cost/features.h"

#include <algorithm>
#include <cmath>

#include "temper/support/error.h"

namespace temper::cost {

double log_scale(double value) { return std::copysign(std::log2(1.0 + std::abs(value)), value); }

double log2_one_more(double value) { return std::log2(1 + std::max(0.0, value)); }

std::size_t FeatureExtractor::column(const std::string& name) {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found != columns_.end()) return static_cast<std::size_t>(found - columns_.begin());
  columns_.push_back(name);
  return columns_.size() - 1;
}

FeatureExtractor::FeatureExtractor(const search::Space& space, const std::vector<Fact>& facts,
                                   const std::vector<std::string>& analysis_features,
                                   const std::optional<Analysis>& reference)
    : space_(&space), analysis_count_(analysis_features.size()) {
  for (const auto& [name, value] : facts) {
    columns_.push_back("fact." + name);
    facts_.push_back(static_cast<float>(log_scale(value)));
  }
  for (const search::Design& design : space.designs()) columns_.push_back("design." + design.name);
  for (const search::Design& design : space.designs()) {
    std::vector<std::size_t>& own = knobs_.emplace_back();
    for (const search::Knob& knob : design.knobs) own.push_back(column("knob." + knob.name));
  }
  first_analysis_ = columns_.size();
  for (const std::string& name : analysis_features) columns_.push_back("program." + name);
  columns_.push_back("program.seconds");
  if (!reference) return;
  for (const std::string& name : analysis_features) columns_.push_back("relative." + name);
  columns_.push_back("relative.seconds");
  reference_.assign(analysis_count_ + 1, kMissing);
  put_analysis(*reference, reference_);
}

void FeatureExtractor::put_analysis(const Analysis& analysis, std::span<float> columns) const {
  TEMPER_CHECK(analysis.features.empty() || analysis.features.size() == analysis_count_,
               "an analysis has another number of features than was announced");
  for (std::size_t i = 0; i < analysis.features.size(); ++i) columns[i] = static_cast<float>(analysis.features[i]);
  // Seconds are far below one: their logarithm itself, not that of one more.
  if (analysis.seconds > 0) columns[analysis_count_] = static_cast<float>(std::log2(analysis.seconds));
}

std::vector<float> FeatureExtractor::extract(const search::Candidate& candidate, const Analysis& analysis) const {
  const std::vector<std::int64_t> values = search::values(*space_, candidate);
  const std::size_t design = static_cast<std::size_t>(candidate.design);
  std::vector<float> row(columns_.size(), kMissing);
  std::copy(facts_.begin(), facts_.end(), row.begin());
  for (std::size_t d = 0; d < knobs_.size(); ++d) row[facts_.size() + d] = d == design ? 1.0F : 0.0F;
  for (std::size_t knob = 0; knob < values.size(); ++knob) {
    row[knobs_[design][knob]] = static_cast<float>(log_scale(static_cast<double>(values[knob])));
  }
  const std::span<float> analysed = std::span(row).subspan(first_analysis_, analysis_count_ + 1);
  put_analysis(analysis, analysed);
  for (std::size_t i = 0; i < reference_.size(); ++i)
    row[first_analysis_ + analysis_count_ + 1 + i] = analysed[i] - reference_[i];
  return row;
}

}  // namespace temper::cost
