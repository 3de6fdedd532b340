#include "temper/cost/xgboost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "temper/cost/byte_stream.h"
#include "temper/cost/pairwise_loss.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

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

 private:
  DMatrixHandle handle_ = nullptr;
};

class Booster {
 public:
  explicit Booster(const DMatrix& matrix) {
    const DMatrixHandle handle = matrix.get();
    TEMPER_XGBOOST(XGBoosterCreate, &handle, 1, &handle_);
  }
  /// From what `bytes` gave. Throws Error{Corrupt}.
  explicit Booster(std::string_view bytes) {
    TEMPER_XGBOOST(XGBoosterCreate, nullptr, 0, &handle_);
    if (XGBoosterLoadModelFromBuffer(handle_, bytes.data(), bytes.size()) != 0) {
      XGBoosterFree(handle_);
      ByteReader::fail();
    }
  }
  ~Booster() { XGBoosterFree(handle_); }
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;
  BoosterHandle get() const { return handle_; }
  void set(const char* name, const std::string& value) {
    TEMPER_XGBOOST(XGBoosterSetParam, handle_, name, value.c_str());
  }
  std::string bytes() const {
    bst_ulong size = 0;
    const char* data = nullptr;
    TEMPER_XGBOOST(XGBoosterSaveModelToBuffer, handle_, R"({"format": "ubj"})", &size, &data);
    return {data, size};
  }
  std::size_t columns() const {
    bst_ulong count = 0;
    TEMPER_XGBOOST(XGBoosterGetNumFeature, handle_, &count);
    return count;
  }

 private:
  BoosterHandle handle_ = nullptr;
};

std::vector<float> to_floats(const std::vector<double>& values) { return {values.begin(), values.end()}; }

/// The slopes of the pairwise loss at the trees so far. Each row is compared with others of its group that are drawn
/// anew for every tree.
class PairwiseObjective {
 public:
  PairwiseObjective(const TrainingSet& samples, PairwiseLoss loss, int pairs, std::uint64_t seed)
      : samples_(samples), loss_(loss), pairs_(pairs), random_(seed), groups_(rows_by_group(samples)) {}

  void boost(const Booster& booster, const DMatrix& matrix, std::span<const float> scores) {
    const std::size_t rows = samples_.features.rows();
    constexpr float kLeast = 1e-6F;  // rows without a pair must not make empty leaves
    gradient_.assign(rows, 0);
    curvature_.assign(rows, kLeast);
    for (const std::vector<std::size_t>& group : groups_) {
      std::vector<std::size_t> partners = group;
      for (int pass = 0; pass < pairs_; ++pass) {
        random_.shuffle(partners);
        for (std::size_t i = 0; i < group.size(); ++i) add(group[i], partners[i], scores);
      }
    }
    TEMPER_XGBOOST(XGBoosterBoostOneIter, booster.get(), matrix.get(), gradient_.data(), curvature_.data(), rows);
  }

 private:
  void add(std::size_t one, std::size_t other, std::span<const float> scores) {
    const double apart = samples_.scores[one] - samples_.scores[other];
    if (apart == 0) return;
    const auto [better, worse] = apart > 0 ? std::pair(one, other) : std::pair(other, one);
    const PairwiseLoss::Slope slope = loss_.slope(static_cast<double>(scores[better]) - scores[worse], std::abs(apart));
    const double weight = pair_weight(samples_, better) / pairs_;
    gradient_[better] += static_cast<float>(weight * slope.gradient);
    gradient_[worse] -= static_cast<float>(weight * slope.gradient);
    curvature_[better] += static_cast<float>(weight * slope.curvature);
    curvature_[worse] += static_cast<float>(weight * slope.curvature);
  }

  const TrainingSet& samples_;
  PairwiseLoss loss_;
  int pairs_;
  RandomStream random_;
  std::vector<std::vector<std::size_t>> groups_;
  std::vector<float> gradient_, curvature_;
};

std::vector<float> scores_of(const Booster& booster, const DMatrix& matrix) {
  bst_ulong dimensions = 0, count = 1;
  const bst_ulong* shape = nullptr;
  const float* scores = nullptr;
  TEMPER_XGBOOST(XGBoosterPredictFromDMatrix, booster.get(), matrix.get(),
                 R"({"type": 1, "training": false, "iteration_begin": 0, "iteration_end": 0, "strict_shape": false})",
                 &shape, &dimensions, &scores);
  for (bst_ulong i = 0; i < dimensions; ++i) count *= shape[i];
  return {scores, scores + count};
}

class XGBoostModel : public CostModel {
 public:
  explicit XGBoostModel(const CostModelContext& context) : context_(context) {}
  explicit XGBoostModel(std::string_view bytes) : booster_(std::make_unique<Booster>(bytes)) {
    booster_->set("nthread", "1");
    booster_->set("verbosity", "0");
    columns_ = booster_->columns();
  }

  void update(const TrainingSet& samples) override {
    check_training_set(samples);
    const bool rank = context_.options.at("rank") != 0;
    DMatrix matrix(samples.features);
    matrix.set("label", to_floats(samples.scores));
    if (!rank && !samples.weights.empty()) matrix.set("weight", to_floats(samples.weights));
    auto booster = std::make_unique<Booster>(matrix);
    const auto option = [&](const char* name) { return std::to_string(context_.options.at(name)); };
    const auto whole = [&](const char* name) { return std::to_string(static_cast<int>(context_.options.at(name))); };
    booster->set("verbosity", "0");
    booster->set("objective", "reg:squarederror");
    booster->set("base_score", "0");
    // A few hundred rows: exact is fast, and independent of the number of threads. Many rows want histograms.
    const bool exact = context_.options.at("bins") == 0;
    booster->set("tree_method", exact ? "exact" : "hist");
    if (!exact) booster->set("max_bin", whole("bins"));
    booster->set("nthread", std::to_string(context_.threads));
    booster->set("seed", std::to_string(static_cast<std::uint32_t>(context_.seed)));
    booster->set("max_depth", whole("depth"));
    booster->set("eta", option("eta"));
    booster->set("lambda", option("lambda"));
    booster->set("min_child_weight", option("min_child_weight"));
    const double most = context_.options.at("most_columns") / static_cast<double>(samples.features.columns());
    booster->set("colsample_bynode", std::to_string(std::min(context_.options.at("columns"), most)));
    booster->set("subsample", option("rows"));
    PairwiseObjective pairwise(samples, {context_.options.at("sharpness"), context_.options.at("squared")},
                               static_cast<int>(context_.options.at("pairs")), context_.seed);
    for (int round = 0; round < static_cast<int>(context_.options.at("rounds")); ++round) {
      if (rank) {
        pairwise.boost(*booster, matrix, scores_of(*booster, matrix));
      } else {
        TEMPER_XGBOOST(XGBoosterUpdateOneIter, booster->get(), round, matrix.get());
      }
    }
    booster_ = std::move(booster);
    columns_ = samples.features.columns();
  }

  bool trained() const override { return booster_ != nullptr; }

  std::vector<double> predict(const FeatureMatrix& features) const override {
    TEMPER_CHECK(trained(), "a cost model was asked before it learned anything");
    if (features.rows() == 0) return {};
    TEMPER_CHECK(features.columns() == columns_, "a cost model was asked about other features than it learned from");
    const std::vector<float> scores = scores_of(*booster_, DMatrix(features));
    TEMPER_CHECK(scores.size() == features.rows(), "XGBoost returned another number of predictions than it got rows");
    return {scores.begin(), scores.end()};
  }

  std::string serialise() const override {
    TEMPER_CHECK(trained(), "a cost model is kept once it has learned something");
    return booster_->bytes();
  }

 private:
  CostModelContext context_;
  std::unique_ptr<Booster> booster_;
  std::size_t columns_ = 0;
};
#undef TEMPER_XGBOOST

std::unique_ptr<CostModel> make(const CostModelContext& context) { return std::make_unique<XGBoostModel>(context); }
std::unique_ptr<CostModel> load(std::string_view bytes) { return std::make_unique<XGBoostModel>(bytes); }

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
           {"most_columns", 40, 1, 1e6, "features that a split may use, at most: what learning takes grows with them",
            true},
           {"rows", 1, 0.01, 1, "share of the rows that a tree learns from"},
           {"bins", 0, 0, 65536, "of histograms that splits are chosen from; 0: every value may be a split", true},
           {"rank", 0, 0, 1, "1: learn the order within each task instead of the score", true},
           {"pairs", 8, 1, 1000, "with rank: other rows that each row is compared with, drawn for every tree", true},
           {"sharpness", 3, 0.01, 1000, "with rank: how soon a difference of scores is clear"},
           {"squared", 0.3, 0, 100, "with rank: share of the squared error of differences"}},
          make,
          load};
}

}  // namespace temper::cost
