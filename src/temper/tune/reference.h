// What a task's outputs must be: input data, the oracle's values at chosen points, and the verified outputs that every
// candidate is then compared with, element by element.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "temper/ir/compute.h"
#include "temper/tune/hardware_test.h"

namespace temper::tune {

class Reference {
 public:
  /// Draws the inputs from `seed`: uniform in [-1, 1), or in [0.1, 1) where that leaves the definition's domain (a root
  /// of something negative); small integers. Evaluates the oracle at corners of each output and at random points.
  /// `compute` is borrowed. `cold_constants` is the data's. Throws Error{Unsupported} for an output whose components
  /// have different dtypes.
  Reference(const ir::Compute& compute, double tolerance_factor, std::uint64_t seed, bool cold_constants = false);

  /// Compares outputs with the oracle at the chosen points: |computed - exact| <= c · eps · magnitude there. When all
  /// agree they become the expected outputs and nothing is returned; otherwise the first difference in words.
  std::optional<std::string> establish(const std::map<std::string, std::string>& outputs);
  bool established() const { return established_; }
  /// With expected outputs once established. Their tolerance allows for the rounding of both sides, at the largest
  /// magnitude that was seen.
  const TaskData& data() const { return data_; }

 private:
  struct Sample {
    std::size_t output;
    std::int64_t element;  ///< within the output's buffer, components one after another
    std::vector<std::int64_t> index;
    double value, magnitude;
  };
  /// Whether all sampled values are finite.
  bool draw(double low, double high, std::uint64_t seed);

  const ir::Compute* compute_;
  double tolerance_factor_;
  TaskData data_;
  std::vector<Sample> samples_;
  bool established_ = false;
};

/// Unit roundoff of a dtype; 0 for integers.
double unit_roundoff(ir::DType dtype);
/// Element `index` of a buffer, gaps counted.
double element(const std::string& bytes, ir::DType dtype, std::int64_t index);

}  // namespace temper::tune
