// From a candidate to a row of features: what is known without building anything, and what an analysis of its program
// adds.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "temper/cost/feature_matrix.h"
#include "temper/search/space.h"

namespace temper::cost {

/// Log scale for numbers of either sign, so that a factor of two is the same step everywhere: log2(1 + v), odd in v.
double log_scale(double value);
/// log2(1 + v) of what cannot be negative but for rounding.
double log2_one_more(double value);

/// What is known about a candidate before it runs.
struct Analysis {
  bool buildable = true;                                      ///< false: the schedule is refused
  double seconds = std::numeric_limits<double>::quiet_NaN();  ///< predicted; NaN: unknown
  std::vector<double> features;                               ///< as many as were announced; NaN: not applicable
};
/// Must be pure, and bear being called by several threads at once: it is called once for a candidate and the answer is
/// kept.
using Analyse = std::function<Analysis(const search::Candidate&)>;

/// A number with a name: a fact about the task's shape or about the target.
using Fact = std::pair<std::string, double>;

/// Columns, in this order: the facts; for each design 0 or 1; each knob by name over all designs; the features of the
/// analysis; its predicted seconds; and, with a reference, the differences of these two to the reference's. Numbers are
/// on `log_scale`, except the analysis's own features, which are taken as they come. What a candidate does not have is
/// `kMissing`.
class FeatureExtractor {
 public:
  /// `space` is borrowed and must outlive the extractor. `reference`: the analysis of one candidate that every space of
  /// its kind has, the untuned one: differences to it mean the same in tasks of any size.
  explicit FeatureExtractor(const search::Space& space, const std::vector<Fact>& facts = {},
                            const std::vector<std::string>& analysis_features = {},
                            const std::optional<Analysis>& reference = std::nullopt);

  const std::vector<std::string>& columns() const { return columns_; }
  const search::Space& space() const { return *space_; }
  /// Throws Error{Internal} when the analysis has another number of features than was announced.
  std::vector<float> extract(const search::Candidate& candidate, const Analysis& analysis = {}) const;

 private:
  std::size_t column(const std::string& name);
  void put_analysis(const Analysis& analysis, std::span<float> columns) const;

  const search::Space* space_;
  std::vector<std::string> columns_;
  std::vector<float> facts_;
  std::vector<std::vector<std::size_t>> knobs_;  ///< of each design: knob → column
  std::size_t first_analysis_ = 0, analysis_count_ = 0;
  std::vector<float> reference_;  ///< the columns of the analysis, of the reference; empty: there is none
};

}  // namespace temper::cost
