// Attention and rotary embedding, against loops written by hand.
#include <gmock/gmock.h>

#include "ops/harness.h"
#include "temper/ops/workload.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;

struct Heads {
  Array q, k, v;
};

/// One row of weights, or scores before softmax.
std::vector<double> weights(const Heads& in, const Shape& at, double scale, double cap,
                            const std::function<double(std::int64_t key)>& bias, bool only_scores = false) {
  const std::int64_t shared = in.q.shape[1] / in.k.shape[1], keys = in.k.shape[2];
  std::vector<double> row;
  double total = 0;
  for (std::int64_t j = 0; j < keys; ++j) {
    double sum = 0;
    for (std::int64_t d = 0; d < in.q.shape[3]; ++d)
      sum += in.q.at({at[0], at[1], at[2], d}) * in.k.at({at[0], at[1] / shared, j, d});
    sum *= scale;
    if (cap != 0) sum = cap * std::tanh(sum / cap);
    row.push_back(sum + bias(j));
    total += std::exp(row.back());
  }
  if (only_scores) return row;
  for (double& x : row) x = std::exp(x) / total;
  return row;
}

TEST(Attention, GroupedHeadsMaskCausalCapAndPast) {
  const Array q = random_array({2, 4, 3, 5}, 1), k = random_array({2, 2, 4, 5}, 2), v = random_array({2, 2, 4, 6}, 3);
  const Array past_k = random_array({2, 2, 2, 5}, 4), past_v = random_array({2, 2, 2, 6}, 5);
  const Array mask = random_array({3, 6}, 6);
  const auto joined = [](const Array& before, const Array& now) {
    return fill({2, 2, 6, now.shape[3]},
                [&](const Shape& i) { return i[2] < 2 ? before.at(i) : now.at({i[0], i[1], i[2] - 2, i[3]}); });
  };
  const Heads all{q, joined(past_k, k), joined(past_v, v)};
  const double scale = 0.3, cap = 0.7;
  const auto bias = [&](std::int64_t i, std::int64_t j) { return i + 2 < j ? -HUGE_VAL : mask.at({i, j}); };
  const std::vector<Array> got =
      run({"Attention",
           {unknown(q), unknown(k), unknown(v), unknown(mask), unknown(past_k), unknown(past_v)},
           attributes({{"scale", scale}, {"softcap", cap}, {"is_causal", i64(1)}, {"qk_matmul_output_mode", i64(1)}}),
           23,
           Layout::Nchw,
           4});
  const Array wanted = fill({2, 4, 3, 6}, [&](const Shape& i) {
    const auto row = weights(all, i, scale, cap, [&](std::int64_t j) { return bias(i[2], j); });
    double sum = 0;
    for (std::int64_t j = 0; j < 6; ++j) sum += row[static_cast<std::size_t>(j)] * all.v.at({i[0], i[1] / 2, j, i[3]});
    return sum;
  });
  expect_near(got[0], wanted, "result", 1e-5);
  expect_near(got[1], all.k, "present key");
  expect_near(got[2], all.v, "present value");
  expect_near(got[3],
              fill({2, 4, 3, 6},
                   [&](const Shape& i) {
                     return weights(
                         all, i, scale, cap, [](std::int64_t) { return 0.0; }, true)[static_cast<std::size_t>(i[3])];
                   }),
              "capped scores", 1e-5);
}

TEST(Attention, FlatHeadsAndMaskOfConditions) {
  const Array q = random_array({1, 3, 8}, 7), k = random_array({1, 2, 8}, 8), v = random_array({1, 2, 4}, 9);
  const Array mask = as_type(integers({3, 2}, {1, 0, 1, 1, 0, 1}), ir::DType::Bool);
  const auto split = [](const Array& flat, std::int64_t size) {
    return fill({1, 2, flat.shape[1], size}, [&](const Shape& i) { return flat.at({0, i[2], i[1] * size + i[3]}); });
  };
  const Heads heads{split(q, 4), split(k, 4), split(v, 2)};
  const Array wanted = fill({1, 3, 4}, [&](const Shape& i) {
    const auto row = weights(heads, {0, i[2] / 2, i[1]}, 0.5, 0,
                             [&](std::int64_t j) { return mask.at({i[1], j}) != 0 ? 0.0 : -HUGE_VAL; });
    return row[0] * v.at({0, 0, i[2]}) + row[1] * v.at({0, 1, i[2]});
  });
  expect_near(run({"Attention",
                   {unknown(q), unknown(k), unknown(v), unknown(mask)},
                   attributes({{"q_num_heads", i64(2)}, {"kv_num_heads", i64(2)}}),
                   23})[0],
              wanted, "flat", 1e-5);
  EXPECT_THAT(build_error({"Attention",
                           {unknown(q), unknown(k), unknown(v)},
                           attributes({{"q_num_heads", i64(3)}, {"kv_num_heads", i64(2)}}),
                           23}),
              HasSubstr("does not divide into heads"));
}

TEST(Attention, WorkloadsInBothLayouts) {
  for (const bool inside : {false, true}) {
    AttentionShape shape{2, 4, 2, 3, 5, 6, 7, 0.3, inside, {2, 1, 3, 5}};
    const Workload work = attention_workload(shape);
    const Heads in{random_array({2, 4, 3, 6}, 20), random_array({2, 2, 5, 6}, 21), random_array({2, 2, 5, 7}, 22)};
    const Array mask = random_array({2, 1, 3, 5}, 23);
    const auto stored = [&](const Array& a) {
      if (!inside) return a;
      return fill({a.shape[0], a.shape[2], a.shape[1], a.shape[3]},
                  [&](const Shape& i) { return a.at({i[0], i[2], i[1], i[3]}); });
    };
    const auto value = [](const Array& a) { return TensorValue::from_numbers({a.dtype, a.shape}, a.values); };
    const TensorValue q = value(stored(in.q)), k = value(stored(in.k)), v = value(stored(in.v)), m = value(mask);
    ir::Oracle oracle(work.compute, {{"Q", *q.bytes}, {"K", *k.bytes}, {"V", *v.bytes}, {"mask", *m.bytes}});
    const Array wanted = fill({2, 4, 3, 7}, [&](const Shape& i) {
      const auto row = weights(in, i, 0.3, 0, [&](std::int64_t j) { return mask.at({i[0], 0, i[2], j}); });
      double sum = 0;
      for (std::int64_t j = 0; j < 5; ++j) sum += row[static_cast<std::size_t>(j)] * in.v.at({i[0], i[1] / 2, j, i[3]});
      return sum;
    });
    const Array got{stored(wanted).shape, oracle.all(*work.compute.outputs[0]), ir::DType::F32};
    expect_near(got, stored(wanted), inside ? "heads inside" : "heads outside", 1e-6);
  }
}

TEST(RotaryEmbedding, HalvesAndPairs) {
  const Array in = random_array({2, 3, 4, 6}, 10), cosines = random_array({5, 2}, 11), sines = random_array({5, 2}, 12);
  const Array places = integers({2, 4}, {0, 2, 4, 1, 3, 3, 0, 1});
  for (const int interleaved : {0, 1}) {
    const Array wanted = fill({2, 3, 4, 6}, [&](const Shape& i) {
      if (i[3] >= 4) return in.at(i);
      const std::int64_t pair = interleaved == 1 ? i[3] / 2 : i[3] % 2;
      const bool second = interleaved == 1 ? i[3] % 2 == 1 : i[3] >= 2;
      const double a = in.at({i[0], i[1], i[2], interleaved == 1 ? 2 * pair : pair}),
                   b = in.at({i[0], i[1], i[2], interleaved == 1 ? 2 * pair + 1 : pair + 2});
      const auto row = static_cast<std::int64_t>(places.at({i[0], i[2]}));
      const double c = cosines.at({row, pair}), s = sines.at({row, pair});
      return second ? s * a + c * b : c * a - s * b;
    });
    expect_near(run({"RotaryEmbedding",
                     {unknown(in), unknown(cosines), unknown(sines), unknown(places)},
                     attributes({{"interleaved", i64(interleaved)}, {"rotary_embedding_dim", i64(4)}}),
                     23})[0],
                wanted, "interleaved " + std::to_string(interleaved));
  }
}

}  // namespace
}  // namespace temper::ops::testing
