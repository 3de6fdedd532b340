// Predicts what the few nearest neighbours had, in the space of features scaled by their spread.
#pragma once

#include <temper/temper.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace example {

class NearestModel : public temper::cost::CostModel {
 public:
  /// What was asked of it, for whoever wants to see.
  struct Uses {
    int updates = 0;
    std::int64_t predictions = 0;
  };

  explicit NearestModel(Uses& uses) : uses_(&uses) {}

  void update(const temper::cost::TrainingSet& samples) override {
    temper::cost::check_training_set(samples);
    samples_ = samples;
    ++uses_->updates;
    scale_.assign(samples.features.columns(), 0);
    for (std::size_t column = 0; column < scale_.size(); ++column) {
      float low = 0, high = 0;
      bool any = false;
      for (std::size_t row = 0; row < samples.features.rows(); ++row) {
        const float value = samples.features.row(row)[column];
        if (std::isnan(value)) continue;
        low = any ? std::min(low, value) : value;
        high = any ? std::max(high, value) : value;
        any = true;
      }
      scale_[column] = high > low ? 1 / (high - low) : 0;
    }
  }

  bool trained() const override { return !samples_.scores.empty(); }

  std::vector<double> predict(const temper::cost::FeatureMatrix& features) const override {
    uses_->predictions += static_cast<std::int64_t>(features.rows());
    std::vector<double> scores;
    for (std::size_t row = 0; row < features.rows(); ++row) scores.push_back(predict(features.row(row)));
    return scores;
  }

 private:
  double predict(std::span<const float> wanted) const {
    constexpr std::size_t kNeighbours = 3;
    std::vector<std::pair<double, double>> near;  // distance, score
    for (std::size_t row = 0; row < samples_.features.rows(); ++row)
      near.emplace_back(distance(wanted, samples_.features.row(row)), samples_.scores[row]);
    const std::size_t count = std::min(kNeighbours, near.size());
    std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(count));
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += near[i].second;
    return sum / static_cast<double>(count);
  }

  double distance(std::span<const float> a, std::span<const float> b) const {
    double sum = 0;
    for (std::size_t i = 0; i < scale_.size(); ++i) {
      const bool missing_a = std::isnan(a[i]), missing_b = std::isnan(b[i]);  // a knob of another design
      const double difference = missing_a || missing_b ? (missing_a == missing_b ? 0 : 1) : (a[i] - b[i]) * scale_[i];
      sum += difference * difference;
    }
    return sum;
  }

  Uses* uses_;
  temper::cost::TrainingSet samples_;
  std::vector<float> scale_;
};

}  // namespace example
