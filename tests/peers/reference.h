// Straightforward definitions of the workloads, in double precision, and random inputs for them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "temper/peers/work.h"
#include "temper/support/random.h"

namespace temper::peers::testing {

inline std::vector<Tensor> random_inputs(const PeerWork& work, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : input_specs(work)) {
    std::int64_t count = 1;
    for (const std::int64_t dim : spec.dims) count *= dim;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = static_cast<float>(random.uniform_real(-1, 1));
    inputs.push_back(Tensor::f32(spec.name, spec.dims, values));
  }
  return inputs;
}

inline std::vector<double> reference_matmul(const MatmulShape& s, std::span<const float> a, std::span<const float> b) {
  std::vector<double> out;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < s.k; ++k) {
          sum += double{a[static_cast<std::size_t>((batch * s.m + i) * s.k + k)]} *
                 b[static_cast<std::size_t>(s.trans_b ? (batch * s.n + j) * s.k + k : (batch * s.k + k) * s.n + j)];
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

/// Element (n, c, y, x) of an activation whose channels, height and width are as given, in its layout.
inline std::size_t at(Layout layout, std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t n,
                      std::int64_t c, std::int64_t y, std::int64_t x) {
  const std::int64_t index = layout == Layout::Nhwc ? ((n * height + y) * width + x) * channels + c
                                                    : ((n * channels + c) * height + y) * width + x;
  return static_cast<std::size_t>(index);
}

inline std::vector<double> reference_conv(const PeerWork& work, std::span<const float> in, std::span<const float> w) {
  const ConvShape s = conv_shape(work);
  const std::int64_t channels = s.ic / s.groups, filters = s.oc / s.groups;
  std::vector<double> out(static_cast<std::size_t>(s.n * s.oc * s.out_h() * s.out_w()));
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t oc = 0; oc < s.oc; ++oc) {
      for (std::int64_t y = 0; y < s.out_h(); ++y) {
        for (std::int64_t x = 0; x < s.out_w(); ++x) {
          double sum = 0;
          for (std::int64_t ic = 0; ic < channels; ++ic) {
            for (std::int64_t kh = 0; kh < s.kh; ++kh) {
              for (std::int64_t kw = 0; kw < s.kw; ++kw) {
                const std::int64_t row = y * s.stride_h + kh * s.dilation_h - s.pad_top;
                const std::int64_t column = x * s.stride_w + kw * s.dilation_w - s.pad_left;
                if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
                sum += double{in[at(work.layout, s.ic, s.h, s.w, n, oc / filters * channels + ic, row, column)]} *
                       w[static_cast<std::size_t>(((oc * channels + ic) * s.kh + kh) * s.kw + kw)];
              }
            }
          }
          out[at(work.layout, s.oc, s.out_h(), s.out_w(), n, oc, y, x)] = sum;
        }
      }
    }
  }
  return out;
}

inline std::vector<double> reference_conv_transpose(const PeerWork& work, std::span<const float> in,
                                                    std::span<const float> w) {
  const ConvShape s = conv_shape(work);
  const std::int64_t channels = s.ic / s.groups, filters = s.oc / s.groups;
  std::vector<double> out(static_cast<std::size_t>(s.n * s.oc * s.out_h() * s.out_w()));
  for (std::int64_t n = 0; n < s.n; ++n) {
    for (std::int64_t ic = 0; ic < s.ic; ++ic) {
      for (std::int64_t oc = 0; oc < filters; ++oc) {
        for (std::int64_t row = 0; row < s.h; ++row) {
          for (std::int64_t column = 0; column < s.w; ++column) {
            for (std::int64_t kh = 0; kh < s.kh; ++kh) {
              for (std::int64_t kw = 0; kw < s.kw; ++kw) {
                const std::int64_t y = row * s.stride_h + kh - s.pad_top, x = column * s.stride_w + kw - s.pad_left;
                if (y < 0 || y >= s.out_h() || x < 0 || x >= s.out_w()) continue;
                out[at(work.layout, s.oc, s.out_h(), s.out_w(), n, ic / channels * filters + oc, y, x)] +=
                    double{in[at(work.layout, s.ic, s.h, s.w, n, ic, row, column)]} *
                    w[static_cast<std::size_t>(((ic * filters + oc) * s.kh + kh) * s.kw + kw)];
              }
            }
          }
        }
      }
    }
  }
  return out;
}

inline std::vector<double> reference_softmax(const RowShape& s, std::span<const float> in) {
  std::vector<double> out;
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const auto values = in.subspan(static_cast<std::size_t>(row * s.cols), static_cast<std::size_t>(s.cols));
    const double largest = *std::ranges::max_element(values);
    double sum = 0;
    for (const float value : values) sum += std::exp(value - largest);
    for (const float value : values) out.push_back(std::exp(value - largest) / sum);
  }
  return out;
}

inline std::vector<double> reference_layer_norm(const RowShape& s, std::span<const float> in,
                                                std::span<const float> scale, std::span<const float> shift) {
  std::vector<double> out;
  const auto cols = static_cast<std::size_t>(s.cols);
  for (std::int64_t row = 0; row < s.rows; ++row) {
    const auto values = in.subspan(static_cast<std::size_t>(row) * cols, cols);
    double mean = 0, variance = 0;
    for (const float value : values) mean += value / static_cast<double>(cols);
    for (const float value : values) variance += (value - mean) * (value - mean) / static_cast<double>(cols);
    for (std::size_t i = 0; i < cols; ++i) {
      out.push_back((values[i] - mean) / std::sqrt(variance + double{kLayerNormEpsilon}) * scale[i] + shift[i]);
    }
  }
  return out;
}

inline std::vector<double> reference_attention(const AttentionShape& s, std::span<const float> q,
                                               std::span<const float> k, std::span<const float> v) {
  const auto product = [&](std::span<const float> a, std::int64_t row, std::span<const float> b, std::int64_t other) {
    double sum = 0;
    for (std::int64_t d = 0; d < s.depth; ++d)
      sum += double{a[static_cast<std::size_t>(row * s.depth + d)]} * b[static_cast<std::size_t>(other * s.depth + d)];
    return sum;
  };
  std::vector<double> out;
  for (std::int64_t head = 0; head < s.batch * s.heads; ++head) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      std::vector<double> weights;
      double total = 0;
      for (std::int64_t j = 0; j < s.keys; ++j) {
        const double score = product(q, head * s.queries + i, k, head * s.keys + j);
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(s.depth))));
        total += weights.back();
      }
      for (std::int64_t d = 0; d < s.value_depth; ++d) {
        double sum = 0;
        for (std::int64_t j = 0; j < s.keys; ++j) {
          sum += weights[static_cast<std::size_t>(j)] *
                 v[static_cast<std::size_t>((head * s.keys + j) * s.value_depth + d)];
        }
        out.push_back(sum / total);
      }
    }
  }
  return out;
}

/// The channel that output element `index` belongs to, which is what a bias goes by.
inline std::size_t channel_of(const PeerWork& work, std::size_t index) {
  if (work.op == "matmul") return index % static_cast<std::size_t>(matmul_shape(work).n);
  const ConvShape s = conv_shape(work);
  const auto oc = static_cast<std::size_t>(s.oc), pixels = static_cast<std::size_t>(s.out_h() * s.out_w());
  return work.layout == Layout::Nhwc ? index % oc : index / pixels % oc;
}

inline std::vector<double> reference(const PeerWork& work, const std::vector<Tensor>& inputs) {
  std::vector<double> out;
  std::size_t next = 2;
  if (work.op == "matmul") {
    out = reference_matmul(matmul_shape(work), inputs[0].as_f32(), inputs[1].as_f32());
  } else if (work.op == "conv2d") {
    out = reference_conv(work, inputs[0].as_f32(), inputs[1].as_f32());
  } else if (work.op == "conv_transpose2d") {
    out = reference_conv_transpose(work, inputs[0].as_f32(), inputs[1].as_f32());
  } else if (work.op == "attention") {
    out = reference_attention(attention_shape(work), inputs[0].as_f32(), inputs[1].as_f32(), inputs[2].as_f32());
    next = 3;
  } else if (work.op == "softmax") {
    out = reference_softmax(row_shape(work), inputs[0].as_f32());
    next = 1;
  } else {
    out = reference_layer_norm(row_shape(work), inputs[0].as_f32(), inputs[1].as_f32(), inputs[2].as_f32());
    next = 3;
  }
  for (const std::string& step : work.epilogue) {
    const bool operand = step == "bias" || step == "add";
    const std::span<const float> values = operand ? inputs[next++].as_f32() : std::span<const float>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      double& x = out[i];
      if (step == "bias") x += values[channel_of(work, i)];
      if (step == "add") x += values[i];
      if (step == "relu") x = std::max(x, 0.0);
      if (step == "hardswish") x = x * std::clamp(x + 3, 0.0, 6.0) / 6;
      if (step == "sigmoid") x = 1 / (1 + std::exp(-x));
      if (step == "tanh") x = std::tanh(x);
    }
  }
  return out;
}

/// The largest difference between `got` and `wanted`, over the largest value of `wanted`.
inline double largest_error(const Tensor& got, const std::vector<double>& wanted) {
  const std::span<const float> values = got.as_f32();
  if (values.size() != wanted.size()) return INFINITY;
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    error = std::max(error, std::isfinite(values[i]) ? std::abs(values[i] - wanted[i]) : INFINITY);
  }
  return largest > 0 ? error / largest : error;
}

}  // namespace temper::peers::testing
