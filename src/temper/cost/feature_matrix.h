// A table of numbers: one row for a candidate, one column for a feature.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "temper/support/error.h"

namespace temper::cost {

/// A feature that a candidate does not have (a knob of another design).
inline constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

/// Row-major.
class FeatureMatrix {
 public:
  FeatureMatrix() = default;
  explicit FeatureMatrix(std::size_t columns) : columns_(columns) {}

  std::size_t columns() const { return columns_; }
  std::size_t rows() const { return columns_ == 0 ? 0 : values_.size() / columns_; }
  std::span<const float> row(std::size_t row) const { return {values_.data() + row * columns_, columns_}; }
  const std::vector<float>& values() const { return values_; }
  void reserve(std::size_t rows) { values_.reserve(rows * columns_); }
  void append(std::span<const float> row) {
    TEMPER_CHECK(row.size() == columns_, "a row of features has another width than its matrix");
    values_.insert(values_.end(), row.begin(), row.end());
  }

 private:
  std::size_t columns_ = 0;
  std::vector<float> values_;
};

}  // namespace temper::cost
