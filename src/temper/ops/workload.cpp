#include "temper/ops/workload.h"

#include <algorithm>
#include <charconv>

#include "temper/ops/matmul.h"
#include "temper/ops/registry.h"
#include "temper/ops/softmax.h"
#include "temper/ops/winograd.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Tensor;

namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// No tensor of a real workload is larger; beyond it sizes in bytes come near the limits of 64-bit arithmetic.
constexpr double kMaxElements = 1099511627776.0;

std::string number(double value) {
  char buffer[40];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void require_positive(const std::string& op, std::initializer_list<std::pair<const char*, std::int64_t>> sizes) {
  for (const auto& [name, value] : sizes) {
    if (value < 1)
      throw Error(ErrorCode::InvalidArgument, std::string(name) + "=" + std::to_string(value) + " must be positive",
                  op);
  }
}

Tensor weight(const std::string& name, const std::vector<std::int64_t>& shape, ir::DType dtype, Constness constness) {
  return constness == Constness::Weights ? ir::constant(name, extents(shape), dtype)
                                         : ir::placeholder(name, extents(shape), dtype);
}

/// "1" when both are equal, else "1:2".
std::string pair_text(std::int64_t y, std::int64_t x) {
  return y == x ? std::to_string(y) : std::to_string(y) + ":" + std::to_string(x);
}
/// top:left:bottom:right, or one number when all are equal.
std::string pad_text(const WindowAxis& y, const WindowAxis& x) {
  if (y.pad_begin == y.pad_end && x.pad_begin == x.pad_end && y.pad_begin == x.pad_begin)
    return std::to_string(y.pad_begin);
  return std::to_string(y.pad_begin) + ":" + std::to_string(x.pad_begin) + ":" + std::to_string(y.pad_end) + ":" +
         std::to_string(x.pad_end);
}

Fields common_fields(Fields fields, ir::DType dtype, const Epilogue* epilogue, Constness constness) {
  fields.emplace_back("dtype", ir::to_string(dtype));
  if (epilogue != nullptr) fields.emplace_back("epilogue", epilogue->empty() ? "none" : to_string(*epilogue));
  fields.emplace_back("const", constness == Constness::Weights ? "weights" : "none");
  return fields;
}

Workload finish(std::string op, Fields fields, const Tensor& out) {
  Workload workload;
  workload.op = std::move(op);
  workload.fields = std::move(fields);
  workload.compute = ir::make_compute({out});
  for (const ir::StagePtr& stage : workload.compute.stages) {
    double elements = 1;
    for (std::int64_t extent : stage->shape()) elements *= static_cast<double>(extent);
    if (elements > kMaxElements) {
      throw Error(ErrorCode::InvalidArgument,
                  "'" + stage->name + "' would have " + number(elements) + " elements, more than 2^40", workload.op,
                  "use smaller sizes");
    }
  }
  ir::verify(workload.compute);
  workload.flops = flops(workload.compute);
  workload.tolerance = tolerance_factor(workload.compute);
  return workload;
}

Tensor with_epilogue(const Tensor& anchor, const Epilogue& epilogue, const ChannelAxes& channels, Constness constness) {
  return append_epilogue(anchor, epilogue,
                         epilogue_operands(anchor, epilogue, channels, constness == Constness::Weights), channels,
                         "out");
}

/// The same convolution over one row of all pixels, where it knows nothing of rows: a vector of pixels may then go on
/// in the next row. The elements lie where they lay.
Conv2dShape rows_joined(const Conv2dShape& s, const Epilogue& epilogue) {
  const bool by_rows = std::ranges::any_of(
      epilogue, [](const EpilogueItem& item) { return epilogue_kind(item.name).operand == EpilogueOperand::Blocks; });
  if (s.layout != Layout::Nchw || !s.y.is_pointwise() || !s.x.is_pointwise() || by_rows) return s;
  Conv2dShape joined = s;
  joined.x.input = s.y.input * s.x.input;
  joined.y.input = 1;
  return conv2d_shape(joined);
}

}  // namespace

std::string Workload::text() const {
  std::string result = op + "(";
  for (std::size_t i = 0; i < fields.size(); ++i)
    result += (i > 0 ? "," : "") + fields[i].first + "=" + fields[i].second;
  return result + ")";
}

Workload matmul_workload(const MatmulShape& s, const Epilogue& epilogue, Constness constness) {
  require_positive("matmul", {{"batch", s.batch}, {"m", s.m}, {"n", s.n}, {"k", s.k}});
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    std::vector<std::int64_t> shape{transposed ? columns : rows, transposed ? rows : columns};
    if (s.batch > 1) shape.insert(shape.begin(), s.batch);
    return shape;
  };
  const Tensor a = ir::placeholder("A", extents(matrix(s.m, s.k, s.trans_a)), s.dtype);
  const Tensor b = weight("B", matrix(s.k, s.n, s.trans_b), s.dtype, constness);
  const Tensor product = matmul(a, b, "matmul", s.trans_a, s.trans_b);
  const Fields fields{{"batch", std::to_string(s.batch)}, {"m", std::to_string(s.m)},
                      {"n", std::to_string(s.n)},         {"k", std::to_string(s.k)},
                      {"trans_a", s.trans_a ? "1" : "0"}, {"trans_b", s.trans_b ? "1" : "0"}};
  return finish("matmul", common_fields(fields, s.dtype, &epilogue, constness),
                with_epilogue(product, epilogue, {product.shape().size() - 1}, constness));
}

Workload conv2d_workload(const Conv2dShape& given, const Epilogue& epilogue, Constness constness) {
  const Conv2dShape s = conv2d_shape(given), defined = rows_joined(s, epilogue);
  const ChannelAxes channels = s.channel_axes();
  const Tensor in = ir::placeholder("in", extents(defined.input_shape()), s.dtype);
  const Tensor filter = weight("weight", s.weight_shape(), s.dtype, constness);
  const bool blocks = channel_block(s.layout) > 0;
  const Tensor product = blocks ? conv2d_blocked(s, in, filter, "conv") : conv2d(defined, in, filter, "conv");
  Fields fields{{"n", std::to_string(s.n)},           {"ic", std::to_string(s.ic)},
                {"h", std::to_string(s.y.input)},     {"w", std::to_string(s.x.input)},
                {"oc", std::to_string(s.oc)},         {"kh", std::to_string(s.y.kernel)},
                {"kw", std::to_string(s.x.kernel)},   {"stride", pair_text(s.y.stride, s.x.stride)},
                {"pad", pad_text(s.y, s.x)},          {"dilation", pair_text(s.y.dilation, s.x.dilation)},
                {"groups", std::to_string(s.groups)}, {"layout", std::string(to_string(s.layout))}};
  if (s.plain_input) fields.emplace_back("in", "nchw");
  Workload workload = finish("conv2d", common_fields(fields, s.dtype, &epilogue, constness),
                             with_epilogue(product, epilogue, channels, constness));
  for (const int m : {2, 4}) {
    if (constness != Constness::Weights || !minimal_filtering_may_pay(s, m)) continue;
    const Tensor filtered = minimal_filtering_conv2d(s, in, filter, m, "conv");
    ir::Compute compute = ir::make_compute({with_epilogue(filtered, epilogue, channels, constness)});
    ir::verify(compute);
    workload.alternatives.push_back({"winograd" + std::to_string(m), std::move(compute)});
  }
  return workload;
}

Workload conv_transpose2d_workload(const ConvTranspose2dShape& given, const Epilogue& epilogue, Constness constness) {
  const ConvTranspose2dShape s = conv_transpose2d_shape(given);
  const Tensor in = ir::placeholder("in", extents(s.input_shape()), s.dtype);
  const Tensor filter = weight("weight", s.weight_shape(), s.dtype, constness);
  const Fields fields{{"n", std::to_string(s.n)},           {"ic", std::to_string(s.ic)},
                      {"h", std::to_string(s.y.input)},     {"w", std::to_string(s.x.input)},
                      {"oc", std::to_string(s.oc)},         {"kh", std::to_string(s.y.kernel)},
                      {"kw", std::to_string(s.x.kernel)},   {"stride", pair_text(s.y.stride, s.x.stride)},
                      {"pad", pad_text(s.y, s.x)},          {"output_padding", pair_text(s.extra_y, s.extra_x)},
                      {"groups", std::to_string(s.groups)}, {"layout", std::string(to_string(s.layout))}};
  return finish(
      "conv_transpose2d", common_fields(fields, s.dtype, &epilogue, constness),
      with_epilogue(conv_transpose2d(s, in, filter, "conv"), epilogue, {PixelLayout(s.layout).channel}, constness));
}

Workload softmax_workload(std::int64_t rows, std::int64_t cols, ir::DType dtype) {
  require_positive("softmax", {{"rows", rows}, {"cols", cols}});
  const Tensor in = ir::placeholder("in", {rows, cols}, dtype);
  return finish(
      "softmax",
      {{"rows", std::to_string(rows)}, {"cols", std::to_string(cols)}, {"dtype", std::string(ir::to_string(dtype))}},
      softmax(in, {1}, "out"));
}

Workload layernorm_workload(std::int64_t rows, std::int64_t cols, double epsilon, ir::DType dtype,
                            Constness constness) {
  require_positive("layernorm", {{"rows", rows}, {"cols", cols}});
  const Tensor in = ir::placeholder("in", {rows, cols}, dtype);
  const Tensor scale = weight("scale", {cols}, dtype, constness), bias = weight("bias", {cols}, dtype, constness);
  const Fields fields{{"rows", std::to_string(rows)}, {"cols", std::to_string(cols)}, {"epsilon", number(epsilon)}};
  Workload workload = finish("layernorm", common_fields(fields, dtype, nullptr, constness),
                             layernorm(in, scale, bias, 1, epsilon, "out").out);
  ir::Compute one_pass =
      ir::make_compute({layernorm(in, scale, bias, 1, epsilon, "out", MomentsAlgorithm::OnePass).out});
  ir::verify(one_pass);
  workload.alternatives.push_back({"one_pass", std::move(one_pass)});
  return workload;
}

Workload attention_workload(const AttentionShape& s) {
  require_positive("attention", {{"batch", s.batch},
                                 {"heads", s.heads},
                                 {"key_heads", s.key_heads},
                                 {"queries", s.queries},
                                 {"keys", s.keys},
                                 {"depth", s.depth},
                                 {"value_depth", s.value_depth}});
  const Tensor q = ir::placeholder("Q", extents(s.query_shape()), s.dtype),
               k = ir::placeholder("K", extents(s.key_shape()), s.dtype),
               v = ir::placeholder("V", extents(s.value_shape()), s.dtype);
  const Tensor mask = s.mask.empty() ? Tensor() : ir::placeholder("mask", extents(s.mask), s.dtype);
  std::string mask_text = s.mask.empty() ? "none" : "";
  for (const std::int64_t size : s.mask) mask_text += (mask_text.empty() ? "" : ":") + std::to_string(size);
  return finish("attention",
                {{"batch", std::to_string(s.batch)},
                 {"heads", std::to_string(s.heads)},
                 {"key_heads", std::to_string(s.key_heads)},
                 {"queries", std::to_string(s.queries)},
                 {"keys", std::to_string(s.keys)},
                 {"depth", std::to_string(s.depth)},
                 {"value_depth", std::to_string(s.value_depth)},
                 {"scale", number(s.scale)},
                 {"mask", mask_text},
                 {"layout", s.heads_inside ? "blhd" : "bhld"},
                 {"dtype", std::string(ir::to_string(s.dtype))}},
                attention(s, q, k, v, mask, "out"));
}

}  // namespace temper::ops
