// Learned cost models: from rows of features to scores.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/cost/feature_matrix.h"
#include "temper/search/options.h"

namespace temper::cost {

/// What a model learns from.
struct TrainingSet {
  FeatureMatrix features;
  std::vector<double> scores;   ///< one per row; higher is better
  std::vector<double> weights;  ///< how much a row counts; empty: all the same
  std::vector<int> groups;      ///< which task a row belongs to: only rows of one group are compared. Empty: one group
};

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// Learns from these rows, and from nothing that was given before. Throws Error{InvalidArgument} unless the sizes
  /// agree and every score is finite.
  virtual void update(const TrainingSet& samples) = 0;
  virtual bool trained() const = 0;
  /// A score for each row; higher is better. Requires trained() and as many columns as were learned from.
  virtual std::vector<double> predict(const FeatureMatrix& features) const = 0;
  /// Bytes that `CostModelInfo::load` makes an equal model from. Requires trained(). Throws Error{Unsupported} for a
  /// model that lives in memory only, unless it overrides this.
  virtual std::string serialise() const;
};

/// Checks what `CostModel::update` promises.
void check_training_set(const TrainingSet& samples);

struct CostModelContext {
  std::uint64_t seed = 0;
  int threads = 1;  ///< the same seed and threads give the same model
  search::OptionValues options = {};
};

struct CostModelInfo {
  std::string name;
  std::string doc;
  std::vector<search::Option> options;
  std::unique_ptr<CostModel> (*make)(const CostModelContext&);
  /// From what `serialise` wrote: it predicts, and does not learn on. Throws Error{Corrupt} for other bytes.
  std::unique_ptr<CostModel> (*load)(std::string_view bytes);
};
/// The one table of learned models; the first one is the default.
std::span<const CostModelInfo> cost_models();
/// Throws Error{InvalidArgument} that lists the known names.
const CostModelInfo& cost_model_info(std::string_view name);
/// Throws Error{InvalidArgument} that lists the known names, or that an option is unknown or out of bounds.
std::unique_ptr<CostModel> make_cost_model(std::string_view name, const CostModelContext& context);

}  // namespace temper::cost
