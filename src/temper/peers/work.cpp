#include "temper/peers/work.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "temper/support/error.h"

namespace temper::peers {
namespace {

[[noreturn]] void invalid(std::string what, std::string where, std::string hint = {}) {
  throw Error(ErrorCode::InvalidArgument, std::move(what), std::move(where), std::move(hint));
}

constexpr std::array<std::pair<std::string_view, std::int64_t>, 7> kDtypes{
    {{"f32", 4}, {"f64", 8}, {"i8", 1}, {"u8", 1}, {"i32", 4}, {"i64", 8}, {"bool", 1}}};

constexpr std::array<std::pair<std::string_view, Layout>, 3> kLayouts{
    {{"native", Layout::Native}, {"nchw", Layout::Nchw}, {"nhwc", Layout::Nhwc}}};

/// A field of an operator. Absent: `fallback_field` decides if it is named, else `fallback` if there is one.
struct Field {
  std::string_view name;
  std::optional<std::int64_t> fallback;
  std::string_view fallback_field;
  std::int64_t minimum = 1;
};
struct Operator {
  std::string_view name;
  std::vector<Field> fields;
};

/// What convolutions have in common, and what is one's own.
std::vector<Field> window_fields(std::initializer_list<Field> own) {
  std::vector<Field> fields{{"n", 1, {}},
                            {"ic", {}, {}},
                            {"h", {}, {}},
                            {"w", {}, {}},
                            {"oc", {}, {}},
                            {"kh", {}, {}},
                            {"kw", {}, {}},
                            {"stride", 1, {}},
                            {"pad", 0, {}, 0},
                            {"groups", 1, {}},
                            {"stride_h", {}, "stride"},
                            {"stride_w", {}, "stride"},
                            {"pad_top", {}, "pad", 0},
                            {"pad_left", {}, "pad", 0},
                            {"pad_bottom", {}, "pad", 0},
                            {"pad_right", {}, "pad", 0}};
  fields.insert(fields.end(), own);
  return fields;
}

const std::vector<Operator>& operators() {
  static const std::vector<Operator> table{
      {"matmul", {{"batch", 1, {}}, {"m", {}, {}}, {"n", {}, {}}, {"k", {}, {}}, {"trans_b", 0, {}, 0}}},
      {"conv2d", window_fields({{"dilation", 1, {}}, {"dilation_h", {}, "dilation"}, {"dilation_w", {}, "dilation"}})},
      {"conv_transpose2d", window_fields({{"output_padding", 0, {}, 0},
                                          {"output_padding_h", {}, "output_padding", 0},
                                          {"output_padding_w", {}, "output_padding", 0}})},
      {"softmax", {{"rows", {}, {}}, {"cols", {}, {}}}},
      {"layernorm", {{"rows", {}, {}}, {"cols", {}, {}}}},
      {"attention",
       {{"batch", 1, {}},
        {"heads", {}, {}},
        {"queries", {}, {}},
        {"keys", {}, {}},
        {"depth", {}, {}},
        {"value_depth", {}, "depth"}}},
      {"model", {}},
  };
  return table;
}

const Operator& operator_of(const PeerWork& work) {
  std::string known;
  for (const Operator& op : operators()) {
    if (op.name == work.op) return op;
    known += (known.empty() ? "" : ", ") + std::string(op.name);
  }
  invalid("Unknown operator '" + work.op + "' in the work for a peer", "op", "one of: " + known);
}

std::int64_t value_of(const PeerWork& work, const Operator& op, std::string_view name) {
  const auto field = std::ranges::find(op.fields, name, &Field::name);
  TEMPER_CHECK(field != op.fields.end(), "no such field in the table of operators");
  const auto given = work.fields.find(std::string(name));
  std::int64_t value = 0;
  if (given != work.fields.end()) {
    value = given->second;
  } else if (!field->fallback_field.empty()) {
    value = value_of(work, op, field->fallback_field);
  } else if (field->fallback) {
    value = *field->fallback;
  } else {
    invalid("The field '" + std::string(name) + "' is missing", work.op);
  }
  if (value < field->minimum || value > std::numeric_limits<std::int32_t>::max()) {
    invalid("The field '" + std::string(name) + "' is " + std::to_string(value), work.op,
            "at least " + std::to_string(field->minimum) + " and below 2^31");
  }
  return value;
}

/// All fields are known and the epilogue makes sense.
const Operator& checked(const PeerWork& work) {
  const Operator& op = operator_of(work);
  for (const auto& [name, value] : work.fields) {
    if (std::ranges::find(op.fields, std::string_view(name), &Field::name) != op.fields.end()) continue;
    std::string known;
    for (const Field& field : op.fields) known += (known.empty() ? "" : ", ") + std::string(field.name);
    invalid("Unknown field '" + name + "'", work.op, "one of: " + known);
  }
  static constexpr std::array<std::string_view, 6> kSteps{"bias", "relu", "hardswish", "sigmoid", "tanh", "add"};
  for (std::size_t i = 0; i < work.epilogue.size(); ++i) {
    const std::string& step = work.epilogue[i];
    if (std::ranges::find(kSteps, std::string_view(step)) == kSteps.end()) {
      invalid("Unknown epilogue step '" + step + "'", work.op, "one of: bias, relu, hardswish, sigmoid, tanh, add");
    }
    if (step == "bias" && i != 0) invalid("A bias comes first in an epilogue", work.op);
    if (step == "bias" && work.op != "matmul" && !is_convolution(work)) invalid("This operator takes no bias", work.op);
  }
  return op;
}

std::vector<std::int64_t> activation_dims(Layout layout, std::int64_t n, std::int64_t c, std::int64_t h,
                                          std::int64_t w) {
  if (layout == Layout::Nhwc) return {n, h, w, c};
  return {n, c, h, w};
}

}  // namespace

std::int64_t dtype_bytes(std::string_view dtype) {
  for (const auto& [name, bytes] : kDtypes) {
    if (name == dtype) return bytes;
  }
  invalid("Unknown dtype '" + std::string(dtype) + "'", {}, "one of: f32, f64, i8, u8, i32, i64, bool");
}

std::int64_t Tensor::elements() const {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

Tensor Tensor::f32(std::string name, std::vector<std::int64_t> dims, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  return {std::move(name), "f32", std::move(dims), {bytes.begin(), bytes.end()}};
}

Tensor Tensor::i64(std::string name, std::vector<std::int64_t> dims, std::span<const std::int64_t> values) {
  const auto bytes = std::as_bytes(values);
  return {std::move(name), "i64", std::move(dims), {bytes.begin(), bytes.end()}};
}

std::span<const float> Tensor::as_f32() const {
  if (dtype != "f32") invalid("The tensor holds " + dtype + ", not f32", name);
  return {reinterpret_cast<const float*>(data.data()), data.size() / sizeof(float)};
}

std::string_view to_string(Layout layout) {
  for (const auto& [name, value] : kLayouts) {
    if (value == layout) return name;
  }
  return "native";
}

Layout parse_layout(std::string_view text) {
  for (const auto& [name, value] : kLayouts) {
    if (name == text) return value;
  }
  invalid("Unknown layout '" + std::string(text) + "'", {}, "one of: native, nchw, nhwc");
}

MatmulShape matmul_shape(const PeerWork& work) {
  const Operator& op = checked(work);
  const std::int64_t trans_b = value_of(work, op, "trans_b");
  if (trans_b > 1) invalid("The field 'trans_b' is " + std::to_string(trans_b), work.op, "0 or 1");
  return {value_of(work, op, "batch"), value_of(work, op, "m"), value_of(work, op, "n"), value_of(work, op, "k"),
          trans_b == 1};
}

RowShape row_shape(const PeerWork& work) {
  const Operator& op = checked(work);
  return {value_of(work, op, "rows"), value_of(work, op, "cols")};
}

AttentionShape attention_shape(const PeerWork& work) {
  const Operator& op = checked(work);
  const auto value = [&](std::string_view name) { return value_of(work, op, name); };
  return {value("batch"), value("heads"), value("queries"), value("keys"), value("depth"), value("value_depth")};
}

std::int64_t ConvShape::out_h() const {
  if (transposed) return (h - 1) * stride_h + kh + extra_h - pad_top - pad_bottom;
  return (h + pad_top + pad_bottom - dilation_h * (kh - 1) - 1) / stride_h + 1;
}
std::int64_t ConvShape::out_w() const {
  if (transposed) return (w - 1) * stride_w + kw + extra_w - pad_left - pad_right;
  return (w + pad_left + pad_right - dilation_w * (kw - 1) - 1) / stride_w + 1;
}

bool is_convolution(const PeerWork& work) { return work.op == "conv2d" || work.op == "conv_transpose2d"; }

ConvShape conv_shape(const PeerWork& work) {
  const Operator& op = checked(work);
  const auto value = [&](std::string_view name) { return value_of(work, op, name); };
  const bool transposed = work.op == "conv_transpose2d";
  ConvShape s{value("n"),
              value("ic"),
              value("h"),
              value("w"),
              value("oc"),
              value("kh"),
              value("kw"),
              value("stride_h"),
              value("stride_w"),
              value("pad_top"),
              value("pad_left"),
              value("pad_bottom"),
              value("pad_right"),
              1,
              1,
              value("groups")};
  s.transposed = transposed;
  if (transposed) {
    s.extra_h = value("output_padding_h");
    s.extra_w = value("output_padding_w");
  } else {
    s.dilation_h = value("dilation_h");
    s.dilation_w = value("dilation_w");
  }
  if (s.ic % s.groups != 0 || s.oc % s.groups != 0) {
    invalid("The groups do not divide the channels", work.op, "ic and oc must be multiples of groups");
  }
  if (transposed) {
    if (s.out_h() < 1 || s.out_w() < 1) invalid("The padding leaves no output", work.op);
    return s;
  }
  if (s.h + s.pad_top + s.pad_bottom < s.dilation_h * (s.kh - 1) + 1 ||
      s.w + s.pad_left + s.pad_right < s.dilation_w * (s.kw - 1) + 1) {
    invalid("The filter is larger than the padded input", work.op);
  }
  return s;
}

std::vector<TensorSpec> input_specs(const PeerWork& work) {
  checked(work);
  std::vector<TensorSpec> specs;
  std::int64_t channels = 0;
  if (work.op == "matmul") {
    const MatmulShape s = matmul_shape(work);
    channels = s.n;
    std::vector<std::int64_t> a{s.m, s.k}, b{s.trans_b ? s.n : s.k, s.trans_b ? s.k : s.n};
    if (s.batch > 1) {
      a.insert(a.begin(), s.batch);
      b.insert(b.begin(), s.batch);
    }
    specs = {{"a", std::move(a)}, {"b", std::move(b), work.constant_weights}};
  } else if (is_convolution(work)) {
    const ConvShape s = conv_shape(work);
    channels = s.oc;
    std::vector<std::int64_t> filters{s.oc, s.ic / s.groups, s.kh, s.kw};
    if (s.transposed) filters = {s.ic, s.oc / s.groups, s.kh, s.kw};
    specs = {{"in", activation_dims(work.layout, s.n, s.ic, s.h, s.w)}, {"w", filters, work.constant_weights}};
  } else if (work.op == "softmax") {
    const RowShape s = row_shape(work);
    specs = {{"in", {s.rows, s.cols}}};
  } else if (work.op == "layernorm") {
    const RowShape s = row_shape(work);
    specs = {{"in", {s.rows, s.cols}},
             {"scale", {s.cols}, work.constant_weights},
             {"shift", {s.cols}, work.constant_weights}};
  }
  if (work.op == "attention") {
    const AttentionShape s = attention_shape(work);
    specs = {{"q", {s.batch, s.heads, s.queries, s.depth}},
             {"k", {s.batch, s.heads, s.keys, s.depth}},
             {"v", {s.batch, s.heads, s.keys, s.value_depth}}};
  }
  int adds = 0;
  for (const std::string& step : work.epilogue) {
    if (step == "bias") specs.push_back({"bias", {channels}, work.constant_weights});
    if (step == "add") specs.push_back({"add" + std::to_string(adds++), output_spec(work).dims});
  }
  return specs;
}

TensorSpec output_spec(const PeerWork& work) {
  checked(work);
  if (work.op == "matmul") {
    const MatmulShape s = matmul_shape(work);
    if (s.batch == 1) return {"out", {s.m, s.n}};
    return {"out", {s.batch, s.m, s.n}};
  }
  if (is_convolution(work)) {
    const ConvShape s = conv_shape(work);
    return {"out", activation_dims(work.layout, s.n, s.oc, s.out_h(), s.out_w())};
  }
  if (work.op == "attention") {
    const AttentionShape s = attention_shape(work);
    return {"out", {s.batch, s.heads, s.queries, s.value_depth}};
  }
  if (work.op == "model") invalid("A model's outputs are known only to the model", work.op);
  const RowShape s = row_shape(work);
  return {"out", {s.rows, s.cols}};
}

void check_inputs(const PeerWork& work, std::span<const Tensor> inputs) {
  for (const Tensor& tensor : inputs) {
    if (std::cmp_not_equal(tensor.data.size(), tensor.elements() * dtype_bytes(tensor.dtype))) {
      invalid("The tensor's bytes do not match its dims", tensor.name);
    }
  }
  if (work.op == "model") return;
  const std::vector<TensorSpec> specs = input_specs(work);
  if (specs.size() != inputs.size()) {
    invalid("This work takes " + std::to_string(specs.size()) + " inputs, not " + std::to_string(inputs.size()),
            work.op);
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (inputs[i].dtype != "f32") invalid("Peers compute in f32", specs[i].name);
    if (inputs[i].dims != specs[i].dims) invalid("The input has the wrong dims", specs[i].name);
  }
}

}  // namespace temper::peers
