// What a template needs to know of a definition: its one reduction, how that is read and written, and the part each
// axis plays.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "temper/ir/compute.h"

namespace temper::space {

/// Every element that a stage's definition reads, in the order of its expressions.
std::vector<ir::Expr> loads_of(const ir::Stage& stage);
/// Whether an index is an axis by itself.
bool is_axis(const ir::Expr& index, const ir::Axis& axis);

/// How one operand of the reduction depends on one axis.
enum class Dependence : std::uint8_t {
  None,
  Direct,    ///< an index is the axis itself
  Scaled,    ///< affine, with another coefficient or together with other axes
  Blocked,   ///< only through floor(axis / divisor)
  Periodic,  ///< only through (axis + constant) mod divisor
  Other,
};

struct Operand {
  ir::StagePtr stage;
  std::vector<Dependence> axes;       ///< per axis of the reduction: spatial, then reduce
  std::vector<std::int64_t> divisor;  ///< per axis: of Blocked and Periodic
  int unit_stride_axis = -1;          ///< axis with coefficient 1 in the last index, and in no other
  int near_axis =
      -1;  ///< spatial axis with a coefficient up to target::kShortStride in the last index, and in no other index
  std::vector<int> direct;                       ///< per index: the axis that it is; -1 when it is something else
  std::vector<std::vector<std::int64_t>> steps;  ///< per index, per axis: its coefficient
};

/// A definition with one reduction, whose output has the reduction's axes (element for element), through elementwise
/// stages.
struct SingleReduction {
  ir::StagePtr reduction, output;
  std::vector<std::string> elementwise;  ///< stages to inline: neither reduction nor output
  std::vector<Operand> operands;         ///< tensors that the body reads, each once
  std::vector<std::int64_t> extents;     ///< per axis: spatial, then reduce
  std::vector<bool> window;       ///< per reduce axis: added to a spatial axis in some index (a convolution's kernel)
  std::vector<bool> conditioned;  ///< per axis: occurs in a `where` condition
  std::size_t rank() const { return reduction->axes.size(); }
};
/// Nothing when the definition is not of that form.
std::optional<SingleReduction> single_reduction(const ir::Compute& compute);

/// Row-wise definitions: the output's last axis is reduced by one or more reductions that keep the other axes (softmax,
/// norms).
struct RowReductions {
  ir::StagePtr output;
  std::vector<std::string> reductions;  ///< in topological order
  std::vector<std::string> per_row;     ///< elementwise, one value a row
  std::vector<std::string> inlined;     ///< elementwise over the elements, read once
  std::vector<std::string> shared;      ///< elementwise over the elements, read by a reduction and by later stages
  std::vector<std::string> sharer;      ///< per `shared`: the reduction that reads it
  std::size_t row_axes = 0;             ///< leading axes
  bool has_columns = true;              ///< false: the output has one value a row
  std::int64_t columns = 0;
};
std::optional<RowReductions> row_reductions(const ir::Compute& compute);

/// Two products in a row, the second of which weighs its terms by what rows of the first became: attention.
///   first[.., i, j]  = Σ_d queries · keys            scores[.., i, j] = f(first)
///   rows[.., i]      = reductions over j and what is computed from them, row by row
///   weights[.., i, j] = g(scores, rows)              second[.., i, d] = Σ_j weights · values
///   output           = h(second, rows), with the axes of `second` in any order
/// All but the operands have the same leading axes, i being the last of them.
struct ProductChain {
  ir::StagePtr first, scores, weights, second, output;
  ir::StagePtr queries, keys, values;  ///< `queries` is the one that depends on i; placeholders, but see `scaled`
  std::string scaled;                  ///< `queries`, where they are an elementwise stage; else empty
  std::vector<std::string> rows;       ///< in topological order
  std::string scorer;                  ///< the first of `rows`, where it reads `scores`; else empty
  std::string sharer;                  ///< the first of `rows` that reads `weights`; empty: none does
  std::vector<int> output_axes;        ///< per axis of `second`: the axis of the output that it is
};
std::optional<ProductChain> product_chain(const ir::Compute& compute);

/// Names of stages that are neither placeholder, reduction nor output.
std::vector<std::string> elementwise_stages(const ir::Compute& compute);

}  // namespace temper::space
