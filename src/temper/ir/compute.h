// A compute definition: what is computed, with no loops, storage or order.
//
// A `Compute` is a DAG of stages in topological order. Each stage defines one tensor (or a tuple of tensors of one
// shape) element by element:
//   plain:      out[axes]   = body
//   reduction:  out[axes]   = init ⊕ (⊕ over reduce axes where every `where` condition holds: body)
// `init` enters exactly once; without it the reduction of an empty domain is the reducer's identity.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "temper/ir/expr.h"

namespace temper::ir {

/// How the terms of a reduction are combined. `combine[i]` is component i of the result, over `param(0..arity-1)`
/// (running values) and `param(arity..2*arity-1)` (the new term). The declared algebra is property-tested, not trusted.
struct Reducer {
  std::string name;
  std::vector<Expr> identity;  ///< literals, one per component
  std::vector<Expr> combine;
  bool associative = true;
  bool commutative = true;
  bool idempotent = false;
  int arity() const { return static_cast<int>(combine.size()); }
};
Reducer sum_reducer(DType dtype);
Reducer product_reducer(DType dtype);
Reducer max_reducer(DType dtype);
Reducer min_reducer(DType dtype);
/// Component-wise sum of a tuple.
Reducer tuple_sum_reducer(DType dtype, int arity);
/// Components (value, index): the largest value and the smallest index that has it.
Reducer argmax_reducer(DType value, DType index);
Reducer argmin_reducer(DType value, DType index);

enum class StageKind : std::uint8_t { Placeholder, Compute };

struct Stage {
  StageKind kind = StageKind::Compute;
  std::string name;           ///< unique within a Compute: [A-Za-z_][A-Za-z0-9_]*
  std::vector<Axis> axes;     ///< spatial axes; for a placeholder they carry its shape
  std::vector<DType> dtypes;  ///< one per component
  bool constant = false;      ///< placeholder only: known before the first run
  std::vector<Expr> body;     ///< one per component
  std::optional<Reducer> reducer;
  std::vector<Axis> reduce_axes;  ///< empty unless `reducer`
  std::vector<Expr> init;         ///< empty, or one per component, over spatial axes only
  std::vector<Expr> where;        ///< conditions, affine with div and mod in the axes, joined by "and"
  /// Placeholders and outputs: how many elements apart neighbours along each axis lie in memory. Empty: row-major
  /// without gaps. Otherwise nested as in row-major order, with gaps that belong to others.
  std::vector<std::int64_t> strides;
  bool is_reduction() const { return reducer.has_value(); }
  std::vector<std::int64_t> shape() const;  ///< constant extents. Throws Error{Unsupported} for a symbolic one.
  /// `strides`, or what they are where that is empty. Throws as `shape`.
  std::vector<std::int64_t> memory_strides() const;
  /// Elements of a component's memory from the first to the last, gaps included. Throws as `shape`.
  std::int64_t memory_elements() const;
};
using StagePtr = std::shared_ptr<const Stage>;

/// A component of a stage; calling it reads an element.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(StagePtr stage, int component = 0) : stage_(std::move(stage)), component_(component) {}
  /// Reads one element. Throws Error{InvalidArgument} when the number of indices differs from the rank.
  template <class... Index>
  Expr operator()(Index... index) const {
    return at(std::vector<Expr>{Expr(index)...});
  }
  Expr at(std::vector<Expr> index) const;
  const StagePtr& stage() const { return stage_; }
  int component() const { return component_; }
  std::vector<std::int64_t> shape() const { return stage_->shape(); }
  DType dtype() const { return stage_->dtypes[static_cast<std::size_t>(component_)]; }

 private:
  StagePtr stage_;
  int component_ = 0;
};

Tensor placeholder(std::string name, std::vector<Extent> shape, DType dtype = DType::F32);
/// A placeholder that is known before the first run (weights).
Tensor constant(std::string name, std::vector<Extent> shape, DType dtype = DType::F32);

/// What a stage's lambda returns: a plain expression converts to it; `sum(...)` and friends build reductions.
struct Definition {
  std::vector<Expr> body;
  std::optional<Reducer> reducer;
  std::vector<Axis> reduce_axes;
  std::vector<Expr> init_values;
  std::vector<Expr> conditions;
  Definition(Expr value) : body{std::move(value)} {}  // NOLINT(google-explicit-constructor): `return a + b;`
  Definition() = default;
  /// Restricts the reduction domain; may be called more than once.
  Definition where(Expr condition) &&;
  /// Adds a value that enters the reduction exactly once.
  Definition init(Expr value) &&;
};
Definition reduction(Reducer reducer, std::vector<Expr> terms, std::vector<Axis> axes);
Definition sum(Expr term, std::vector<Axis> axes);
Definition product(Expr term, std::vector<Axis> axes);
Definition max_over(Expr term, std::vector<Axis> axes);
Definition min_over(Expr term, std::vector<Axis> axes);

/// Defines a stage. `names` gives the spatial axes' names (empty: i0, i1, …).
Tensor compute(std::string name, std::vector<Extent> shape,
               const std::function<Definition(std::span<const Axis>)>& define, std::vector<std::string> names = {});
/// As `compute`, with up to five axes spread over the lambda's arguments: `define("C", {m, n}, [&](Axis i, Axis j)
/// {...})`. The lambda must take as many axes as `shape` has.
template <class Define>
Tensor define(std::string name, std::vector<Extent> shape, Define&& lambda, std::vector<std::string> names = {});
/// Component `index` of a tuple-valued stage.
inline Tensor component(const Tensor& t, int index) { return Tensor(t.stage(), index); }

/// Range and divisibility of a named parameter.
struct Parameter {
  std::string name;
  std::int64_t min = 1, max = 1, divisor = 1;
};

struct Compute {
  std::vector<StagePtr> stages;   ///< topological order, placeholders included
  std::vector<StagePtr> outputs;  ///< stages whose every component is written to memory for the caller
  std::vector<Parameter> parameters;
  const StagePtr& stage(std::string_view name) const;  ///< Throws Error{NotFound}.
  int index_of(const Stage* stage) const;              ///< position in `stages`; -1 when absent
};
/// Collects everything the outputs read. Placeholders come first, in order of first use. Throws Error{InvalidArgument}
/// on duplicate names.
Compute make_compute(const std::vector<Tensor>& outputs, std::vector<Parameter> parameters = {});

/// The same function of tensors that lie in memory otherwise: sets `Stage::strides` of the placeholders and outputs
/// that are named. Throws Error{NotFound} for a name that is no stage, and what `verify` throws.
Compute with_strides(const Compute& compute, const std::map<std::string, std::vector<std::int64_t>>& strides);

/// Checks everything a Compute promises: names, dtypes, ranks, arity, affine conditions, topological order, reads
/// inside the domain where they are affine. Throws Error{InvalidArgument} that names the stage.
void verify(const Compute& compute);

/// Text form; `parse_compute(print(c))` is structurally equal to `c`.
std::string print(const Compute& compute);
std::string print(const Expr& expr);
/// Throws Error{InvalidArgument} with line and column.
Compute parse_compute(std::string_view text);

/// 64-bit structural hash: equal for computes that differ only in axis and stage names.
std::uint64_t structural_hash(const Compute& compute);

/// Throws Error{InvalidArgument} unless `axes` holds `count` axes; the check behind `define`.
void expect_axes(std::span<const Axis> axes, std::size_t count);

template <class Define>
Tensor define(std::string name, std::vector<Extent> shape, Define&& lambda, std::vector<std::string> names) {
  return compute(
      std::move(name), std::move(shape),
      [&](std::span<const Axis> axes) -> Definition {
        if constexpr (std::is_invocable_v<Define>) {
          expect_axes(axes, 0);
          return lambda();
        } else if constexpr (std::is_invocable_v<Define, Axis>) {
          expect_axes(axes, 1);
          return lambda(axes[0]);
        } else if constexpr (std::is_invocable_v<Define, Axis, Axis>) {
          expect_axes(axes, 2);
          return lambda(axes[0], axes[1]);
        } else if constexpr (std::is_invocable_v<Define, Axis, Axis, Axis>) {
          expect_axes(axes, 3);
          return lambda(axes[0], axes[1], axes[2]);
        } else if constexpr (std::is_invocable_v<Define, Axis, Axis, Axis, Axis>) {
          expect_axes(axes, 4);
          return lambda(axes[0], axes[1], axes[2], axes[3]);
        } else {
          expect_axes(axes, 5);
          return lambda(axes[0], axes[1], axes[2], axes[3], axes[4]);
        }
      },
      std::move(names));
}

}  // namespace temper::ir
