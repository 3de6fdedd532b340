#include "temper/cost/xgboost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>

#include "temper/support/error.h"

namespace temper::cost {
namespace {

void check(int status, const char* call) {
  if (status == 0) return;
  // The first line is the message, the rest a stack trace.
  const std::string text = XGBGetLastError();
  throw Error(ErrorCode::Internal, "XGBoost: " + text.substr(0, text.find('\n')), call,
              "check that the installed XGBoost is version 1.7 or later");
}
#define TEMPER_XGBOOST(call, ...) check(call(__VA_ARGS__), #call)

/// A matrix of XGBoost; freed with its owner.
class DMatrix {
 public:
  explicit DMatrix(const FeatureMatrix& features) {
    TEMPER_XGBOOST(XGDMatrixCreateFromMat, features.values().data(), features.rows(), features.columns(), kMissing,
                   &handle_);
  }
  ~DMatrix() { XGDMatrixFree(handle_); }
  DMatrix(const DMatrix&) = delete;
  DMatrix& operator=(const DMatrix&) = delete;
  DMatrixHandle get() const { return handle_; }
  void set(const char* field, const std::vector<float>& values) {
    TEMPER_XGBOOST(XGDMatrixSetFloatInfo, handle_, field, values.data(), values.size());
  }
  void set_groups(const std::vector<unsigned>& sizes) {
    TEMPER_XGBOOST(XGDMatrixSetUIntInfo, handle_, "group", sizes.data(), sizes.size());
  }

 private:
  DMatrixHandle handle_ = nullptr;
};

class Booster {
 public:
  explicit Booster(const DMatrix& matrix) {
    const DMatrixHandle handle = matrix.get();
    TEMPER_XGBOOST(XGBoosterCreate, &handle, 1, &handle_);
  }
  ~Booster() { XGBoosterFree(handle_); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;
  BoosterHandle get() const { return handle_; }
  void set(const char* name, const std::string& value) {
    TEMPER_XGBOOST(XGBoosterSetParam, handle_, name, value.c_str());
  }

 private:
  BoosterHandle handle_ = nullptr;
};

/// Rows sorted by group, so that each group is contiguous as ranking requires.
struct Grouped {
  FeatureMatrix features;
  std::vector<float> scores, weights;
  std::vector<unsigned> sizes;
};

Grouped group(const TrainingSet& samples) {
  std::vector<std::size_t> order(samples.features.rows());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto group_of = [&](std::size_t row) { return samples.groups.empty() ? 0 : samples.groups[row]; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return group_of(a) < group_of(b); });
  Grouped result{FeatureMatrix(samples.features.columns()), {}, {}, {}};
  result.features.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t row = order[i];
    result.features.append(samples.features.row(row));
    result.scores.push_back(static_cast<float>(samples.scores[row]));
    if (!samples.weights.empty()) result.weights.push_back(static_cast<float>(samples.weights[row]));
    if (i == 0 || group_of(row) != group_of(order[i - 1])) result.sizes.push_back(0);
    ++result.sizes.back();
  }
  return result;
}

/// XGBoost ranks by whole relevance degrees 0..31, the best of a group having the highest.
std::vector<float> relevance(const Grouped& grouped) {
  constexpr double kDegrees = 31;
  std::vector<float> result;
  std::size_t first = 0;
  for (const unsigned size : grouped.sizes) {
    std::vector<float> sorted(grouped.scores.begin() + static_cast<std::ptrdiff_t>(first),
                              grouped.scores.begin() + static_cast<std::ptrdiff_t>(first + size));
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = first; i < first + size; ++i) {
      const auto below = std::lower_bound(sorted.begin(), sorted.end(), grouped.scores[i]) - sorted.begin();
      result.push_back(
          static_cast<float>(std::floor(kDegrees * static_cast<double>(below) / std::max(1.0, size - 1.0))));
    }
    first += size;
  }
  return result;
}

class XGBoostModel : public CostModel {
 public:
  explicit XGBoostModel(const CostModelContext& context) : context_(context) {}

  void update(const TrainingSet& samples) override {
    check_training_set(samples);
    const bool rank = context_.options.at("rank") != 0;
    const Grouped grouped = group(samples);
    DMatrix matrix(grouped.features);
    matrix.set("label", rank ? relevance(grouped) : grouped.scores);
    if (rank) {
      matrix.set_groups(grouped.sizes);  // weights would count for whole groups there
    } else if (!grouped.weights.empty()) {
      matrix.set("weight", grouped.weights);
    }
    auto booster = std::make_unique<Booster>(matrix);
    const auto option = [&](const char* name) { return std::to_string(context_.options.at(name)); };
    const auto whole = [&](const char* name) { return std::to_string(static_cast<int>(context_.options.at(name))); };
    booster->set("verbosity", "0");
    booster->set("objective", rank ? "rank:pairwise" : "reg:squarederror");
    booster->set("base_score", "0");
    booster->set("tree_method",
                 "exact");  // a few hundred rows: exact is fast, and independent of the number of threads
    booster->set("nthread", std::to_string(context_.threads));
    booster->set("seed", std::to_string(static_cast<std::uint32_t>(context_.seed)));
    booster->set("max_depth", whole("depth"));
    booster->set("eta", option("eta"));
    booster->set("lambda", option("lambda"));
    booster->set("min_child_weight", option("min_child_weight"));
    booster->set("colsample_bynode", option("columns"));
    for (int round = 0; round < static_cast<int>(context_.options.at("rounds")); ++round) {
      TEMPER_XGBOOST(XGBoosterUpdateOneIter, booster->get(), round, matrix.get());
    }
    booster_ = std::move(booster);
    columns_ = samples.features.columns();
  }

  bool trained() const override { return booster_ != nullptr; }

  std::vector<double> predict(const FeatureMatrix& features) const override {
    TEMPER_CHECK(trained(), "a cost model was asked before it learned anything");
    if (features.rows() == 0) return {};
    TEMPER_CHECK(features.columns() == columns_, "a cost model was asked about other features than it learned from");
    DMatrix matrix(features);
    bst_ulong dimensions = 0, count = 1;
    const bst_ulong* shape = nullptr;
    const float* scores = nullptr;
    TEMPER_XGBOOST(XGBoosterPredictFromDMatrix, booster_->get(), matrix.get(),
                   R"({"type": 1, "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})",
                   &shape, &dimensions, &scores);
    for (bst_ulong i = 0; i < dimensions; ++i) count *= shape[i];
    TEMPER_CHECK(count == features.rows(), "XGBoost returned another number of predictions than it got rows");
    return std::vector<double>(scores, scores + count);
  }

 private:
  CostModelContext context_;
  std::unique_ptr<Booster> booster_;
  std::size_t columns_ = 0;
};
#undef TEMPER_XGBOOST

std::unique_ptr<CostModel> make(const CostModelContext& context) { return std::make_unique<XGBoostModel>(context); }

}  // namespace

CostModelInfo xgboost_model() {
  return {"xgboost",
          "gradient-boosted trees, trained again on every batch of measurements",
          {{"rounds", 150, 1, 10000, "trees", true},
           {"depth", 6, 1, 30, "largest depth of a tree", true},
           {"eta", 0.1, 1e-4, 1, "learning rate"},
           {"lambda", 0.3, 0, 1e6, "L2 regularisation of leaf values"},
           {"min_child_weight", 0.05, 0, 1e6, "smallest sum of weights in a leaf"},
           {"columns", 0.7, 0.01, 1, "share of the features that a split may use"},
           {"rank", 0, 0, 1, "1: learn the order within each task instead of the score", true}},
          make};
}

}  // namespace temper::cost
