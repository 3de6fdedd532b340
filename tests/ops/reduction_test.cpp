// Pooling, softmax, norms and reductions against loops written by hand.
#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "ops/harness.h"
#include "temper/ops/layernorm.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Array to_nhwc(const Array& a) {
  return fill({a.shape[0], a.shape[2], a.shape[3], a.shape[1]},
              [&](const Shape& i) { return a.at({i[0], i[3], i[1], i[2]}); });
}

struct PoolAxis {
  std::int64_t size, kernel, stride, dilation, begin, end;
  /// By the definition: the last window starts inside the input or the left padding.
  std::int64_t count(bool ceil_mode) const {
    const double room = static_cast<double>(size + begin + end - ((kernel - 1) * dilation + 1));
    const double steps = room / static_cast<double>(stride);
    auto n = static_cast<std::int64_t>(ceil_mode ? std::ceil(steps) : std::floor(steps)) + 1;
    if (ceil_mode && (n - 1) * stride >= size + begin) --n;
    return n;
  }
};

TEST(Pool, RandomGeometriesInBothLayouts) {
  RandomStream random(3);
  for (int trial = 0; trial < 60; ++trial) {
    PoolAxis axes[2];
    for (PoolAxis& a : axes) {
      a.kernel = random.uniform_int(1, 3);
      a.dilation = random.uniform_int(1, 2);
      a.size = random.uniform_int(5, 9);
      a.stride = random.uniform_int(1, 3);
      a.begin = random.uniform_int(0, a.kernel - 1);
      a.end = random.uniform_int(0, a.kernel - 1);
    }
    const bool ceil_mode = random.chance(0.5), include = random.chance(0.5);
    const Array in = random_array({2, 3, axes[0].size, axes[1].size}, static_cast<std::uint64_t>(trial));
    const Shape out{2, 3, axes[0].count(ceil_mode), axes[1].count(ceil_mode)};
    const auto windows = [&](const std::string& what) {
      return fill(out, [&](const Shape& i) {
        double best = -kInfinity, sum = 0, squares = 0, rows = 0, columns = 0;
        int counted = 0;
        for (std::int64_t ky = 0; ky < axes[0].kernel; ++ky) {
          for (std::int64_t kx = 0; kx < axes[1].kernel; ++kx) {
            const std::int64_t y = i[2] * axes[0].stride + ky * axes[0].dilation - axes[0].begin;
            const std::int64_t x = i[3] * axes[1].stride + kx * axes[1].dilation - axes[1].begin;
            const bool inside = y >= 0 && y < axes[0].size && x >= 0 && x < axes[1].size;
            if (inside && in.at({i[0], i[1], y, x}) > best) {
              best = in.at({i[0], i[1], y, x});
              const double image = static_cast<double>((i[0] * 3 + i[1]) * axes[0].size * axes[1].size);
              rows = image + static_cast<double>(y * axes[1].size + x);
              columns = image + static_cast<double>(x * axes[0].size + y);
            }
            if (inside) sum += in.at({i[0], i[1], y, x});
            if (inside) squares += in.at({i[0], i[1], y, x}) * in.at({i[0], i[1], y, x});
            const bool padded = y < axes[0].size + axes[0].end && x < axes[1].size + axes[1].end;
            if (inside || (include && padded)) ++counted;
          }
        }
        if (what == "rows") return rows;
        if (what == "columns") return columns;
        return what == "LpPool" ? std::sqrt(squares) : what == "AveragePool" ? sum / counted : best;
      });
    };
    const Attributes a = attributes({{"kernel_shape", list({axes[0].kernel, axes[1].kernel})},
                                     {"strides", list({axes[0].stride, axes[1].stride})},
                                     {"dilations", list({axes[0].dilation, axes[1].dilation})},
                                     {"pads", list({axes[0].begin, axes[1].begin, axes[0].end, axes[1].end})},
                                     {"ceil_mode", i64(ceil_mode ? 1 : 0)},
                                     {"count_include_pad", i64(include ? 1 : 0)}});
    for (const int column_major : {0, 1}) {
      Attributes places = a;
      places.set("storage_order", i64(column_major));
      const Array wanted = windows(column_major == 1 ? "columns" : "rows");
      const std::string what = "places, trial " + std::to_string(trial);
      expect_near(run({"MaxPool", {unknown(in)}, places, 21, Layout::Nchw, 2})[1], wanted, what);
      expect_near(run({"MaxPool", {unknown(to_nhwc(in))}, places, 21, Layout::Nhwc, 2})[1], to_nhwc(wanted), what);
    }
    for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
      const Array wanted = windows(op);
      const std::string what = std::string(op) + " trial " + std::to_string(trial);
      expect_near(run({op, {unknown(in)}, a})[0], wanted, what);
      expect_near(run({op, {unknown(to_nhwc(in))}, a, 21, Layout::Nhwc})[0], to_nhwc(wanted), what + " nhwc");
    }
  }
}

TEST(Pool, GlobalInBothLayouts) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{2, 3, 12, 13}}) {
    const Array in = random_array(shape, 1);
    const std::int64_t pixels = shape[2] * shape[3];
    const auto over = [&](bool average) {
      return fill({2, 3, 1, 1}, [&](const Shape& i) {
        double best = -kInfinity, sum = 0;
        for (std::int64_t p = 0; p < pixels; ++p) {
          const double v = in.at({i[0], i[1], p / shape[3], p % shape[3]});
          best = std::fmax(best, v);
          sum += v;
        }
        return average ? sum / static_cast<double>(pixels) : best;
      });
    };
    for (const bool average : {false, true}) {
      const std::string op = average ? "GlobalAveragePool" : "GlobalMaxPool";
      expect_near(run({op, {unknown(in)}})[0], over(average), op);
      expect_near(run({op, {unknown(to_nhwc(in))}, {}, 21, Layout::Nhwc})[0], to_nhwc(over(average)), op + " nhwc");
    }
  }
}

// An f32 sum of 1000 equal numbers, one after the other, is off by more than a library's that adds in a tree.
TEST(Pool, LongMeansAreSumsOfRows) {
  const auto text = [](const std::string& op, const Shape& shape) {
    Built built({op, {unknown(random_array(shape, 1))}});
    return ir::print(ir::make_compute(build(built.node())));
  };
  EXPECT_THAT(text("GlobalAveragePool", {1, 2, 40, 25}), HasSubstr("out_rows"));
  EXPECT_THAT(text("GlobalAveragePool", {1, 2, 7, 7}), ::testing::Not(HasSubstr("out_rows")));
  EXPECT_THAT(text("GlobalMaxPool", {1, 2, 40, 25}), ::testing::Not(HasSubstr("out_rows")));
}

TEST(Pool, Errors) {
  const Input in = unknown(random_array({1, 1, 4, 4}, 1));
  EXPECT_EQ(build_error({"MaxPool", {in}}), "invalid_model: attribute 'kernel_shape' is missing (MaxPool)");
  EXPECT_THAT(
      build_error({"AveragePool", {unknown(random_array({1, 4}, 1))}, attributes({{"kernel_shape", list({2})}})}),
      HasSubstr("unsupported: the input has rank 2"));
}

/// Softmax over the axes in `inner`, or its logarithm.
Array softmax_of(const Array& in, const std::vector<std::size_t>& inner, bool logarithm) {
  const auto same_row = [&](const Shape& a, const Shape& b) {
    for (std::size_t d = 0; d < a.size(); ++d) {
      if (std::find(inner.begin(), inner.end(), d) == inner.end() && a[d] != b[d]) return false;
    }
    return true;
  };
  return fill(in.shape, [&](const Shape& i) {
    double largest = -kInfinity, sum = 0;
    for (std::int64_t p = 0; p < in.size(); ++p) {
      if (same_row(in.index_of(p), i)) largest = std::fmax(largest, in.values[static_cast<std::size_t>(p)]);
    }
    for (std::int64_t p = 0; p < in.size(); ++p) {
      if (same_row(in.index_of(p), i)) sum += std::exp(in.values[static_cast<std::size_t>(p)] - largest);
    }
    const double shifted = in.at(i) - largest;
    return logarithm ? shifted - std::log(sum) : std::exp(shifted) / sum;
  });
}

TEST(Softmax, ANaNIsTheWholeRowsResult) {
  Array in = random_array({4, 5}, 3);
  in.values[7] = std::numeric_limits<double>::quiet_NaN();
  in.values[12] = std::numeric_limits<double>::infinity();
  for (std::size_t i = 15; i < 20; ++i) in.values[i] = -std::numeric_limits<double>::infinity();
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    const Array out = run({op, {unknown(in)}, {}, 13})[0];
    for (std::int64_t row = 0; row < 4; ++row) {
      int nans = 0;
      for (std::int64_t column = 0; column < 5; ++column) nans += std::isnan(out.at({row, column})) ? 1 : 0;
      // inf - inf is the one NaN of the row with an infinity: its sum is NaN too, and so are the rest.
      EXPECT_EQ(nans, row == 0 ? 0 : 5) << op << " row " << row;
    }
  }
}

TEST(Softmax, OneAxisFromOpset13) {
  const Array in = random_array({2, 3, 4}, 1, -5, 5);
  for (std::int64_t axis = -3; axis < 3; ++axis) {
    const auto inner = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
    for (const bool logarithm : {false, true}) {
      expect_near(run({logarithm ? "LogSoftmax" : "Softmax", {unknown(in)}, attributes({{"axis", axis}}), 13})[0],
                  softmax_of(in, {inner}, logarithm), "axis " + std::to_string(axis));
    }
  }
  expect_near(run({"Softmax", {unknown(in)}, {}, 13})[0], softmax_of(in, {2}, false), "default");
}

TEST(Softmax, TrailingAxesTogetherBeforeOpset13) {
  const Array in = random_array({2, 3, 4}, 1, -5, 5);
  expect_near(run({"Softmax", {unknown(in)}, {}, 11})[0], softmax_of(in, {1, 2}, false), "default");
  expect_near(run({"Softmax", {unknown(in)}, attributes({{"axis", i64(2)}}), 11})[0], softmax_of(in, {2}, false),
              "axis 2");
  expect_near(run({"LogSoftmax", {unknown(in)}, attributes({{"axis", i64(0)}}), 11})[0],
              softmax_of(in, {0, 1, 2}, true), "axis 0");
}

TEST(Softmax, LargeInputsDoNotOverflow) {
  expect_near(run({"Softmax", {unknown({{1, 3}, {1000, 1000, -1000}})}})[0], {{1, 3}, {0.5, 0.5, 0}}, "large");
}

TEST(LayerNorm, AxesScaleBiasAndOutputs) {
  const Array in = random_array({2, 3, 4}, 1, -1, 3);
  for (const std::int64_t axis : {1, 2, -1}) {
    const std::int64_t first = axis < 0 ? axis + 3 : axis;
    const Shape inner(in.shape.begin() + first, in.shape.end());
    const Array scale = random_array(inner, 2), bias = random_array(inner, 3);
    const auto row_moments = [&](const Shape& i) {
      double sum = 0, squares = 0;
      const std::int64_t count = elements(inner);
      const Shape row(i.begin(), i.begin() + first);
      for (std::int64_t p = 0; p < in.size(); ++p) {
        const Shape at = in.index_of(p);
        if (Shape(at.begin(), at.begin() + first) == row) sum += in.at(at);
      }
      const double mean = sum / static_cast<double>(count);
      for (std::int64_t p = 0; p < in.size(); ++p) {
        const Shape at = in.index_of(p);
        if (Shape(at.begin(), at.begin() + first) == row) squares += (in.at(at) - mean) * (in.at(at) - mean);
      }
      return std::pair{mean, 1 / std::sqrt(squares / static_cast<double>(count) + 1e-3)};
    };
    const Array wanted = fill(in.shape, [&](const Shape& i) {
      const auto [mean, inverse] = row_moments(i);
      const Shape at(i.begin() + first, i.end());
      return (in.at(i) - mean) * inverse * scale.at(at) + bias.at(at);
    });
    const auto outputs = run({"LayerNormalization",
                              {unknown(in), known(scale), known(bias)},
                              attributes({{"axis", axis}, {"epsilon", 1e-3}}),
                              21,
                              Layout::Nchw,
                              3});
    ASSERT_EQ(outputs.size(), 3U);
    expect_near(outputs[0], wanted, "Y");
    Shape kept = in.shape;
    for (std::size_t d = static_cast<std::size_t>(first); d < 3; ++d) kept[d] = 1;
    expect_near(outputs[1], fill(kept, [&](const Shape& i) { return row_moments(i).first; }), "Mean");
    expect_near(outputs[2], fill(kept, [&](const Shape& i) { return row_moments(i).second; }), "InvStdDev");
  }
}

TEST(LayerNorm, OnePassMeansTheSame) {
  const Array in = random_array({4, 9}, 1);
  const TensorValue value = TensorValue::from_numbers({ir::DType::F32, in.shape}, in.values);
  const ir::Tensor x = ir::placeholder("x", extents(in.shape));
  const auto evaluate = [&](MomentsAlgorithm algorithm) {
    const ir::Compute c = ir::make_compute({layernorm(x, {}, {}, 1, 1e-5, "out", algorithm).out});
    ir::verify(c);
    return ir::Oracle(c, {{"x", *value.bytes}}).all(*c.outputs[0]);
  };
  expect_near({in.shape, evaluate(MomentsAlgorithm::OnePass)}, {in.shape, evaluate(MomentsAlgorithm::TwoPass)},
              "one pass", 1e-5);
}

TEST(BatchNorm, BothLayouts) {
  const Array in = random_array({2, 3, 4, 5}, 1), scale = random_array({3}, 2), bias = random_array({3}, 3),
              mean = random_array({3}, 4), variance = random_array({3}, 5, 0.1, 2);
  const Array wanted = fill(in.shape, [&](const Shape& i) {
    const Shape c{i[1]};
    return (in.at(i) - mean.at(c)) / std::sqrt(variance.at(c) + 1e-3) * scale.at(c) + bias.at(c);
  });
  const std::vector<Input> rest{known(scale), known(bias), known(mean), known(variance)};
  std::vector<Input> nchw{unknown(in)}, nhwc{unknown(to_nhwc(in))};
  nchw.insert(nchw.end(), rest.begin(), rest.end());
  nhwc.insert(nhwc.end(), rest.begin(), rest.end());
  const Attributes a = attributes({{"epsilon", 1e-3}});
  expect_near(run({"BatchNormalization", nchw, a})[0], wanted, "nchw");
  expect_near(run({"BatchNormalization", nhwc, a, 21, Layout::Nhwc})[0], to_nhwc(wanted), "nhwc");
  EXPECT_EQ(build_error({"BatchNormalization", nchw, attributes({{"training_mode", i64(1)}})}),
            "unsupported: training is not supported (BatchNormalization)");
}

using Values = std::vector<double>;
const std::map<std::string, std::function<double(const Values&)>> kReductions{
    {"ReduceL1",
     [](const Values& v) {
       double s = 0;
       for (double x : v) s += std::fabs(x);
       return s;
     }},
    {"ReduceL2",
     [](const Values& v) {
       double s = 0;
       for (double x : v) s += x * x;
       return std::sqrt(s);
     }},
    {"ReduceLogSum",
     [](const Values& v) {
       double s = 0;
       for (double x : v) s += x;
       return std::log(s);
     }},
    {"ReduceLogSumExp",
     [](const Values& v) {
       double s = 0;
       for (double x : v) s += std::exp(x);
       return std::log(s);
     }},
    {"ReduceMax", [](const Values& v) { return *std::max_element(v.begin(), v.end()); }},
    {"ReduceMean",
     [](const Values& v) {
       double s = 0;
       for (double x : v) s += x;
       return s / static_cast<double>(v.size());
     }},
    {"ReduceMin", [](const Values& v) { return *std::min_element(v.begin(), v.end()); }},
    {"ReduceProd",
     [](const Values& v) {
       double s = 1;
       for (double x : v) s *= x;
       return s;
     }},
    {"ReduceSum",
     [](const Values& v) {
       double s = 0;
       for (double x : v) s += x;
       return s;
     }},
    {"ReduceSumSquare",
     [](const Values& v) {
       double s = 0;
       for (double x : v) s += x * x;
       return s;
     }},
};

TEST(Reduce, EveryOperatorAxesAndKeepdims) {
  const Array in = random_array({2, 3, 4}, 1, 0.1, 2);
  for (const auto& [op, formula] : kReductions) {
    for (const std::vector<std::int64_t>& axes :
         {list({0}), list({1}), list({-1}), list({0, 2}), list({1, 2}), list({0, 1, 2})}) {
      std::vector<bool> inner(3);
      for (std::int64_t a : axes) inner[static_cast<std::size_t>(a < 0 ? a + 3 : a)] = true;
      for (const bool keep : {false, true}) {
        Shape shape;
        for (std::size_t d = 0; d < 3; ++d) {
          if (!inner[d] || keep) shape.push_back(inner[d] ? 1 : in.shape[d]);
        }
        const Array wanted = fill(shape, [&](const Shape& i) {
          Values values;
          for (std::int64_t p = 0; p < in.size(); ++p) {
            const Shape at = in.index_of(p);
            Shape row;
            for (std::size_t d = 0; d < 3; ++d) {
              if (!inner[d] || keep) row.push_back(inner[d] ? 0 : at[d]);
            }
            if (row == i) values.push_back(in.at(at));
          }
          return formula(values);
        });
        const Attributes by_attribute = attributes({{"axes", axes}, {"keepdims", i64(keep ? 1 : 0)}});
        expect_near(run({op, {unknown(in)}, by_attribute, 11})[0], wanted, op + " by attribute");
        expect_near(
            run({op, {unknown(in), known(vector_of(axes))}, attributes({{"keepdims", i64(keep ? 1 : 0)}}), 18})[0],
            wanted, op + " by input");
      }
    }
    Values all = in.values;
    expect_near(run({op, {unknown(in)}, attributes({{"keepdims", i64(0)}})})[0], {{}, {formula(all)}},
                op + " over everything");
  }
}

TEST(Reduce, NoAxesMeansACopyWhenAsked) {
  const Array in = random_array({2, 3}, 1);
  const Attributes noop = attributes({{"noop_with_empty_axes", i64(1)}});
  expect_near(run({"ReduceSum", {unknown(in)}, noop})[0], in, "sum");
  expect_near(run({"ReduceSumSquare", {unknown(in)}, noop})[0],
              fill(in.shape, [&](const Shape& i) { return in.at(i) * in.at(i); }), "squares");
}

TEST(Reduce, IntegersAndInfinities) {
  expect_near(
      run({"ReduceMax", {unknown(integers({3}, {-5, -2, -9}, ir::DType::I32))}, attributes({{"keepdims", i64(0)}})})[0],
      {{}, {-2}}, "i32");
  expect_near(run({"ReduceMean", {unknown(integers({3}, {-5, -2, -9}))}, attributes({{"keepdims", i64(0)}})})[0],
              {{}, {-5}}, "integer mean");
  expect_near(
      run({"ReduceLogSumExp", {unknown({{2}, {-kInfinity, -kInfinity}})}, attributes({{"keepdims", i64(0)}})})[0],
      {{}, {-kInfinity}}, "-inf");
  expect_near(run({"ReduceLogSumExp", {unknown({{2}, {1000, 1000}})}, attributes({{"keepdims", i64(0)}})})[0],
              {{}, {1000 + std::log(2)}}, "large");
}

TEST(Reduce, Errors) {
  EXPECT_EQ(build_error({"ReduceSum", {unknown(random_array({2, 3}, 1))}, attributes({{"axes", list({2})}}), 11}),
            "invalid_model: axis 2 does not exist in a tensor of rank 2 (ReduceSum)");
  EXPECT_EQ(build_error({"ReduceSum", {unknown(random_array({2, 3}, 1)), unknown(vector_of({1}))}}),
            "unsupported: input 1 is computed by the model; its value must be constant (ReduceSum)");
}

TEST(ArgReduce, TiesAndLastIndex) {
  const Array in{{2, 4}, {1, 7, 7, 2, -3, -3, 5, -3}};
  const auto arg = [&](const std::string& op, bool last, bool keep) {
    return run(
        {op,
         {unknown(in)},
         attributes({{"axis", i64(1)}, {"select_last_index", i64(last ? 1 : 0)}, {"keepdims", i64(keep ? 1 : 0)}})})[0];
  };
  expect_near(arg("ArgMax", false, false), {{2}, {1, 2}}, "first maximum");
  expect_near(arg("ArgMax", true, false), {{2}, {2, 2}}, "last maximum");
  expect_near(arg("ArgMin", false, true), {{2, 1}, {0, 0}}, "first minimum");
  expect_near(arg("ArgMin", true, true), {{2, 1}, {0, 3}}, "last minimum");
  EXPECT_EQ(arg("ArgMax", false, false).dtype, ir::DType::I64);
}

TEST(Reduce, ConditionsHaveALargestAndASmallest) {
  const Array in = as_type(integers({2, 3}, {0, 1, 0, 1, 1, 1}), ir::DType::Bool);
  const Input axis = known(vector_of({1}));
  const std::vector<std::pair<std::string, Array>> wanted{{"ReduceMax", {{2, 1}, {1, 1}}},
                                                          {"ReduceMin", {{2, 1}, {0, 1}}}};
  for (const auto& [op, values] : wanted) {
    const Array got = run({op, {unknown(in), axis}})[0];
    expect_near(got, values, op);
    EXPECT_EQ(got.dtype, ir::DType::Bool);
  }
  EXPECT_THAT(build_error({"ReduceSum", {unknown(in), axis}}), HasSubstr("unsupported: conditions"));
}

}  // namespace
}  // namespace temper::ops::testing
