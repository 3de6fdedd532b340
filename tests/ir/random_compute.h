// Random but valid compute definitions: reductions of every reducer, predicates, init values, tuples, gathers, casts,
// selects.
#pragma once

#include <string>
#include <vector>

#include "temper/ir/compute.h"
#include "temper/support/random.h"

namespace temper::ir::testing {

class ComputeGenerator {
 public:
  explicit ComputeGenerator(std::uint64_t seed) : random_(seed) {}

  Compute generate() {
    tensors_.clear();
    const auto inputs = random_.uniform_int(1, 3);
    for (std::int64_t i = 0; i < inputs; ++i) {
      std::vector<Extent> shape;
      const auto rank = random_.uniform_int(1, 3);
      for (std::int64_t d = 0; d < rank; ++d) shape.emplace_back(random_.uniform_int(1, 6));
      const std::string name = "in" + std::to_string(i);
      tensors_.push_back(random_.chance(0.5) ? placeholder(name, shape) : constant(name, shape));
    }
    const auto stages = random_.uniform_int(1, 4);
    for (std::int64_t i = 0; i < stages; ++i) {
      const Tensor stage = make_stage("s" + std::to_string(i));
      for (std::size_t c = 0; c < stage.stage()->dtypes.size(); ++c)
        tensors_.push_back(component(stage, static_cast<int>(c)));
    }
    return make_compute({tensors_.back()});
  }

 private:
  Tensor make_stage(const std::string& name) {
    std::vector<Extent> shape;
    std::vector<std::string> names;
    const auto rank = random_.uniform_int(0, 3);
    for (std::int64_t d = 0; d < rank; ++d) {
      shape.emplace_back(random_.uniform_int(1, 5));
      names.push_back("x" + std::to_string(d));
    }
    return compute(name, shape, [&](std::span<const Axis> axes) { return make_definition(axes); }, names);
  }

  Definition make_definition(std::span<const Axis> spatial) {
    axes_.assign(spatial.begin(), spatial.end());
    if (random_.chance(0.4)) return Definition(value(3));
    const std::vector<Axis> outer = axes_;
    std::vector<Axis> reduced;
    const auto count = random_.uniform_int(1, 2);
    for (std::int64_t i = 0; i < count; ++i)
      reduced.push_back(reduce("r" + std::to_string(i), random_.uniform_int(1, 4)));
    axes_.insert(axes_.end(), reduced.begin(), reduced.end());
    Definition d;
    const auto choice = random_.uniform_int(0, 5);
    const Expr term = value(2);
    switch (choice) {
      case 0: d = sum(term, reduced); break;
      case 1: d = max_over(term, reduced); break;
      case 2: d = min_over(term, reduced); break;
      case 3: d = product(term, reduced); break;
      case 4: d = reduction(tuple_sum_reducer(DType::F32, 2), {term, term * term}, reduced); break;
      default: d = reduction(argmax_reducer(DType::F32, DType::I64), {term, index()}, reduced); break;
    }
    if (random_.chance(0.5)) d = std::move(d).where(condition());
    if (choice <= 3 && random_.chance(0.3)) {
      axes_ = outer;
      d = std::move(d).init(value(1));
    }
    return d;
  }

  /// An affine integer expression in the axes in scope.
  Expr index() {
    Expr e(random_.uniform_int(-2, 2));
    for (const Axis& axis : axes_) {
      if (random_.chance(0.6)) e = e + axis * random_.uniform_int(1, 3);
    }
    if (random_.chance(0.2)) e = floor_div(e, random_.uniform_int(2, 3));
    if (random_.chance(0.2)) e = mod(e, random_.uniform_int(2, 5));
    return e;
  }

  Expr condition() {
    const Expr c =
        random_.chance(0.5) ? in_range(index(), random_.uniform_int(1, 9)) : index() <= random_.uniform_int(0, 6);
    return random_.chance(0.2) ? c || mod(index(), 2) == 0 : c;
  }

  /// A read at clamped or wrapped indices, hence always inside the domain.
  Expr read() {
    const Tensor& tensor = random_.pick(tensors_);
    std::vector<Expr> at;
    for (std::int64_t extent : tensor.shape()) {
      at.push_back(random_.chance(0.5) ? mod(index(), extent) : min(max(index(), 0), extent - 1));
    }
    const Expr element = tensor.at(at);
    return tensor.dtype() == DType::F32 ? element : cast(element, DType::F32);
  }

  Expr value(int depth) {
    if (depth == 0 || random_.chance(0.15)) {
      if (random_.chance(0.2)) return literal(random_.uniform_real(-2, 2), DType::F32);
      return random_.chance(0.1) ? cast(index(), DType::F32) : read();
    }
    switch (random_.uniform_int(0, 9)) {
      case 0: return value(depth - 1) + value(depth - 1);
      case 1: return value(depth - 1) - value(depth - 1);
      case 2: return value(depth - 1) * value(depth - 1);
      case 3: return max(value(depth - 1), value(depth - 1));
      case 4: return min(value(depth - 1), value(depth - 1));
      case 5: return tanh(value(depth - 1));
      case 6: return sigmoid(value(depth - 1));
      case 7: return select(condition(), value(depth - 1), value(depth - 1));
      case 8: return -value(depth - 1);
      default: return abs(value(depth - 1)) / 3.0F;
    }
  }

  RandomStream random_;
  std::vector<Tensor> tensors_;
  std::vector<Axis> axes_;
};

}  // namespace temper::ir::testing
