// What a peer is asked to compute, in the terms of the benchmark's SPEC, and the tensors that go in and come out.
//
// One description serves every peer, so that all of them run the same workload on the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace temper::peers {

/// A dense tensor in row-major order; owns its bytes.
struct Tensor {
  std::string name;
  std::string dtype = "f32";  ///< f32, f64, i8, u8, i32, i64, bool
  std::vector<std::int64_t> dims;
  std::vector<std::byte> data;

  static Tensor f32(std::string name, std::vector<std::int64_t> dims, std::span<const float> values);
  static Tensor i64(std::string name, std::vector<std::int64_t> dims, std::span<const std::int64_t> values);
  std::int64_t elements() const;
  /// The bytes as floats. Throws Error{InvalidArgument} when the tensor is not f32.
  std::span<const float> as_f32() const;
};

/// Bytes of one element. Throws Error{InvalidArgument} for a name that is not in the list above.
std::int64_t dtype_bytes(std::string_view dtype);

/// Where the activations of a convolution lie at both ends.
enum class Layout {
  Native,  ///< whatever the peer likes best: given and returned in NCHW, reordered outside the timing
  Nchw,
  Nhwc,
};
std::string_view to_string(Layout layout);
/// Throws Error{InvalidArgument}.
Layout parse_layout(std::string_view text);

/// One workload. Fields by operator (those with a default may be left out):
///   matmul     m, n, k, batch=1, trans_b=0                    a[batch,m,k] x b[k,n] (b[batch,k,n] when batch > 1; b
///              is [n,k] with trans_b=1)
///   conv2d     n=1, ic, h, w, oc, kh, kw, stride=1, pad=0, dilation=1, groups=1; one axis or side alone may be given
///              by stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h, dilation_w
///   conv_transpose2d  n=1, ic, h, w, oc, kh, kw, stride=1, pad=0, output_padding=0, groups=1, and stride_h, …,
///   pad_right,
///              output_padding_h, output_padding_w as above
///   softmax    rows, cols                                     over cols
///   layernorm  rows, cols                                     over cols, epsilon 1e-5, with scale and bias
///   attention  batch=1, heads, queries, keys, depth, value_depth=depth
///                                                             of [batch,heads,length,depth], scale 1/sqrt(depth), no
///                                                             mask
///   model      none: `model` or `model_path` says it
struct PeerWork {
  std::string op;
  std::map<std::string, std::int64_t> fields;
  Layout layout = Layout::Native;
  /// Applied in order to the operator's output: bias (first only), relu, hardswish, sigmoid, tanh, add (of one more
  /// input).
  std::vector<std::string> epilogue;
  bool constant_weights = true;  ///< b, filters, bias, scale may be packed ahead
  std::string model;             ///< ONNX ModelProto bytes, for op "model"
  std::string model_path;        ///< or a file, which a model with external data needs
};

struct TensorSpec {
  std::string name;
  std::vector<std::int64_t> dims;
  bool constant = false;
};

/// The inputs that `work` takes, in order:
///   matmul a, b;  conv2d in, w;  conv_transpose2d in, w;  softmax in;  layernorm in, scale, shift;
///   attention q, k, v;  then bias, then add0, add1, ...
/// Activations have the dims of their layout: [n,ic,h,w], or [n,h,w,ic] for nhwc; filters are [oc,ic/groups,kh,kw], of
/// conv_transpose2d [ic,oc/groups,kh,kw].
/// Empty for a model. Throws Error{InvalidArgument} when the operator, a field or the epilogue is not of this list.
std::vector<TensorSpec> input_specs(const PeerWork& work);
/// The one output of an operator's work; same errors.
TensorSpec output_spec(const PeerWork& work);
/// Checks dtype and dims of `inputs` against `input_specs`. Throws Error{InvalidArgument}.
void check_inputs(const PeerWork& work, std::span<const Tensor> inputs);

struct MatmulShape {
  std::int64_t batch, m, n, k;
  bool trans_b;
};
/// Of conv2d and conv_transpose2d.
struct ConvShape {
  std::int64_t n, ic, h, w, oc, kh, kw, stride_h, stride_w, pad_top, pad_left, pad_bottom, pad_right, dilation_h,
      dilation_w, groups;
  bool transposed = false;
  std::int64_t extra_h = 0, extra_w = 0;  ///< output padding
  std::int64_t out_h() const;
  std::int64_t out_w() const;
};
struct RowShape {
  std::int64_t rows, cols;
};
struct AttentionShape {
  std::int64_t batch, heads, queries, keys, depth, value_depth;
};
/// conv2d or conv_transpose2d.
bool is_convolution(const PeerWork& work);
/// The fields with their defaults filled in; same errors as `input_specs`.
MatmulShape matmul_shape(const PeerWork& work);
ConvShape conv_shape(const PeerWork& work);
RowShape row_shape(const PeerWork& work);
AttentionShape attention_shape(const PeerWork& work);

/// Epsilon of every layer norm here.
inline constexpr float kLayerNormEpsilon = 1e-5F;

}  // namespace temper::peers
