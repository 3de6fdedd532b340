#include "temper/ops/quantisation.h"

#include <optional>

#include "temper/ops/conv2d.h"
#include "temper/ops/elementwise.h"
#include "temper/ops/indexing.h"
#include "temper/ops/matmul.h"

namespace temper::ops {

using ir::Axis;
using ir::DType;
using ir::Expr;
using ir::Tensor;

namespace {

Expr f32(const Expr& e) { return ir::cast(e, DType::F32); }
Expr i32(const Expr& e) { return ir::cast(e, DType::I32); }

struct Range {
  double low, high;
};
Range range_of(const Node& node, DType dtype) {
  switch (dtype) {
    case DType::I8: return {-128, 127};
    case DType::U8: return {0, 255};
    default:
      unsupported(node, "quantised values of type " + std::string(ir::to_string(dtype)),
                  "int8 and uint8 are supported");
  }
}

/// Saturated in floating point, so that the conversion is exact.
Expr saturate(const Node& node, const Expr& rounded, const Expr& zero_point, DType dtype) {
  const Range range = range_of(node, dtype);
  const Expr shifted = rounded + f32(zero_point);
  return ir::cast(ir::min(ir::max(shifted, ir::literal(range.low, DType::F32)), ir::literal(range.high, DType::F32)),
                  dtype);
}
Expr round_even(const Expr& x) { return ir::unary(ir::UnaryOp::Round, x); }

/// The element of a scale or zero point that belongs to `index` of the data: of one element, along `axis`, or of
/// blocks.
Expr parameter(const Node& node, const Tensor& tensor, const std::vector<std::int64_t>& data,
               const std::vector<Expr>& index, std::int64_t axis_attribute, std::int64_t block) {
  const std::vector<std::int64_t> shape = tensor.shape();
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  if (count == 1) return tensor.at(std::vector<Expr>(shape.size(), Expr(0)));
  const auto axis = static_cast<std::size_t>(normalise_axis(node, axis_attribute, data.size()));
  if (shape.size() == 1 && block == 0) {
    if (shape[0] != data[axis]) invalid(node, "there must be one scale for each position of the axis");
    return tensor.at({index[axis]});
  }
  if (shape.size() != data.size() || block < 1)
    invalid(node, "a scale for blocks needs the data's rank and a block_size");
  std::vector<Expr> at = index;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t wanted = i == axis ? (data[i] + block - 1) / block : data[i];
    if (shape[i] != wanted) invalid(node, "the scales do not fit the blocks");
  }
  at[axis] = ir::floor_div(index[axis], Expr(block));
  return tensor.at(at);
}

/// The zero point of a matrix factor or image: one, or one for each position of an axis. Zero when it is absent.
Expr zero_point(const Node& node, std::size_t input, const std::vector<std::int64_t>& data,
                const std::vector<Expr>& index, std::size_t axis) {
  if (!node.has(input)) return ir::cast(Expr(0), DType::I32);
  const Tensor& tensor = node.input(input);
  if (tensor.shape().size() == data.size() && data.size() > 1) return i32(broadcast_read(tensor, index));
  return i32(parameter(node, tensor, data, index, static_cast<std::int64_t>(axis), 0));
}

/// A tensor less its zero point, in int32.
Tensor centred(const Node& node, std::size_t input, std::size_t zero, std::size_t axis, const std::string& role) {
  const Tensor& in = node.input(input);
  const std::vector<std::int64_t> shape = in.shape();
  return ir::compute(node.name + "_" + role, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    return ir::Definition(i32(in.at(index)) - zero_point(node, zero, shape, index, axis));
  });
}

Tensor product(const Node& node, std::size_t b, std::size_t a_zero, std::size_t b_zero, const std::string& name) {
  const std::size_t rank_a = node.input(0).shape().size(), rank_b = node.input(b).shape().size();
  if (rank_a < 2 || rank_b < 2) unsupported(node, "factors of rank 1");
  return matmul(centred(node, 0, a_zero, rank_a - 2, "a"), centred(node, b, b_zero, rank_b - 1, "b"), name);
}

/// The convolution of `node` without zero points: its own attributes, other inputs.
Tensor convolution(const Node& node, std::size_t weights, std::size_t in_zero, std::size_t weight_zero,
                   const std::string& name) {
  Node plain;
  plain.op = "Conv";
  plain.opset = node.opset;
  plain.attributes = node.attributes;
  plain.name = name;
  const auto operand = [](Tensor tensor) { return Operand{std::move(tensor), nullptr}; };
  plain.inputs = {operand(centred(node, 0, in_zero, 1, "x")), operand(centred(node, weights, weight_zero, 0, "w"))};
  return build_conv(plain)[0];
}

Expr requantise(const Node& node, const Expr& sum, const Expr& in_scale, const Expr& other_scale, const Expr& out_scale,
                const Expr& zero, DType dtype) {
  return saturate(node, round_even(f32(sum) * (in_scale * other_scale / out_scale)), zero, dtype);
}

Expr scalar(const Node& node, std::size_t input) {
  const Tensor& tensor = node.input(input);
  if (type_of(tensor).elements() != 1) unsupported(node, "input " + std::to_string(input) + " with several values");
  return tensor.at(std::vector<Expr>(tensor.shape().size(), Expr(0)));
}

}  // namespace

std::vector<Tensor> build_quantize_linear(const Node& node) {
  const Tensor &in = node.input(0), &scale = node.input(1);
  const std::vector<std::int64_t> shape = in.shape();
  if (scale.dtype() != DType::F32) unsupported(node, "a scale that is not float (float32)");
  DType dtype = DType::U8;
  if (node.has(2)) {
    dtype = node.input(2).dtype();
  } else if (const std::int64_t wanted = node.attributes->integer("output_dtype", 0); wanted != 0) {
    dtype = dtype_from_onnx(node, wanted);
  }
  range_of(node, dtype);
  const std::int64_t axis = node.attributes->integer("axis", 1), block = node.attributes->integer("block_size", 0);
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const Expr zero =
        node.has(2) ? parameter(node, node.input(2), shape, index, axis, block) : ir::cast(Expr(0), dtype);
    const Expr factor = parameter(node, scale, shape, index, axis, block);
    return ir::Definition(saturate(node, round_even(f32(in.at(index)) / factor), zero, dtype));
  })};
}

std::vector<Tensor> build_dequantize_linear(const Node& node) {
  const Tensor &in = node.input(0), &scale = node.input(1);
  const std::vector<std::int64_t> shape = in.shape();
  if (scale.dtype() != DType::F32) unsupported(node, "a scale that is not float (float32)");
  const std::int64_t axis = node.attributes->integer("axis", 1), block = node.attributes->integer("block_size", 0);
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    Expr value = i32(in.at(index));
    if (node.has(2)) value = value - i32(parameter(node, node.input(2), shape, index, axis, block));
    return ir::Definition(f32(value) * parameter(node, scale, shape, index, axis, block));
  })};
}

std::vector<Tensor> build_dynamic_quantize_linear(const Node& node) {
  const Tensor& in = node.input(0);
  if (in.dtype() != DType::F32) invalid(node, "the input must be float (float32)");
  const std::vector<std::int64_t> shape = in.shape();
  const auto extreme = [&](const std::string& role, bool largest) {
    return ir::compute(node.name + role, {}, [&](std::span<const Axis>) {
      std::vector<Axis> r;
      for (std::size_t i = 0; i < shape.size(); ++i) r.push_back(ir::reduce("r" + std::to_string(i), shape[i]));
      const Expr x = in.at(as_exprs(r));
      return largest ? ir::max_over(x, r) : ir::min_over(x, r);
    });
  };
  if (shape.empty()) unsupported(node, "a scalar input");
  const Tensor high = extreme("_max", true), low = extreme("_min", false);
  const Expr nothing = ir::literal(0, DType::F32);
  // The range always holds 0.
  const Tensor scale = ir::compute(node.name + "_scale", {}, [&](std::span<const Axis>) {
    return ir::Definition((ir::max(high(), nothing) - ir::min(low(), nothing)) / ir::literal(255, DType::F32));
  });
  const Tensor zero = ir::compute(node.name + "_zero", {}, [&](std::span<const Axis>) {
    const Expr place = round_even(-ir::min(low(), nothing) / scale());
    return ir::Definition(saturate(node, place, ir::cast(Expr(0), DType::I32), DType::U8));
  });
  const Tensor out = ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    return ir::Definition(saturate(node, round_even(in.at(as_exprs(axes)) / scale()), zero(), DType::U8));
  });
  return {out, scale, zero};
}

std::vector<Tensor> build_matmul_integer(const Node& node) { return {product(node, 1, 2, 3, node.name)}; }

std::vector<Tensor> build_conv_integer(const Node& node) { return {convolution(node, 1, 2, 3, node.name)}; }

std::vector<Tensor> build_qlinear_matmul(const Node& node) {
  const Tensor sum = product(node, 3, 2, 5, node.name + "_sum");
  const std::vector<std::int64_t> shape = sum.shape();
  const DType dtype = node.input(7).dtype();
  const std::size_t rank = shape.size();
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    const auto along = [&](std::size_t input, std::size_t axis) {
      return parameter(node, node.input(input), shape, index, static_cast<std::int64_t>(axis), 0);
    };
    return ir::Definition(requantise(node, sum.at(index), along(1, rank - 2), along(4, rank - 1), scalar(node, 6),
                                     scalar(node, 7), dtype));
  })};
}

std::vector<Tensor> build_qlinear_conv(const Node& node) {
  const Tensor sum = convolution(node, 3, 2, 5, node.name + "_sum");
  const std::vector<std::int64_t> shape = sum.shape();
  const DType dtype = node.input(7).dtype();
  return {ir::compute(node.name, extents(shape), [&](std::span<const Axis> axes) {
    const std::vector<Expr> index = as_exprs(axes);
    Expr total = sum.at(index);
    if (node.has(8)) total = total + node.input(8).at({index[1]});
    const Expr weight_scale = parameter(node, node.input(4), shape, index, 1, 0);
    return ir::Definition(
        requantise(node, total, scalar(node, 1), weight_scale, scalar(node, 6), scalar(node, 7), dtype));
  })};
}

}  // namespace temper::ops
