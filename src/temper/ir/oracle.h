// The oracle: evaluates a compute definition directly, one element at a time, on demand. It knows nothing of schedules,
// loops or code, which is what makes it a judge of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "temper/ir/compute.h"

namespace temper::ir {

/// One value with the sum of the absolute values of its terms, all in f64; the latter scales error bounds
/// (tolerance = c · eps · magnitude, Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
struct Evaluated {
  double value = 0;
  double magnitude = 0;
};

/// Raw bytes of each placeholder by name: row-major, or as its strides say.
using Inputs = std::map<std::string, std::span<const std::byte>>;

class Oracle {
 public:
  /// Keeps references: `compute` and the memory behind `inputs` must outlive the oracle. Throws Error{InvalidArgument}
  /// when an input is missing or has the wrong size.
  Oracle(const Compute& compute, const Inputs& inputs);
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  /// Element `index` of component `component` of `stage`; intermediate elements are memoised. Floating arithmetic is
  /// f64.
  Evaluated at(const Stage& stage, std::span<const std::int64_t> index, int component = 0);
  /// Every element of one component, row-major.
  std::vector<double> all(const Stage& stage, int component = 0);
  /// As `all`, exactly, for an integer or Bool component. Throws Error{InvalidArgument} for a floating one.
  std::vector<std::int64_t> all_integers(const Stage& stage, int component = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace temper::ir
