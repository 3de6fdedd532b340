// Elements taken from and put to named places, against loops written by hand.
#include <gmock/gmock.h>

#include "ops/harness.h"

namespace temper::ops::testing {
namespace {

using ::testing::HasSubstr;

std::int64_t whole(double x) { return static_cast<std::int64_t>(x); }

TEST(GatherElements, OneIndexForEachElement) {
  const Array in = random_array({3, 4}, 1), places = integers({2, 4}, {2, -1, 0, 1, -3, 1, 2, 0});
  const auto wanted = [&](const Shape& i) {
    const std::int64_t at = whole(places.at(i));
    return in.at({at < 0 ? at + 3 : at, i[1]});
  };
  expect_near(run({"GatherElements", {unknown(in), unknown(places)}})[0], fill({2, 4}, wanted), "axis 0");
  EXPECT_THAT(build_error({"GatherElements", {unknown(in), unknown(integers({2}, {0, 1}))}}), HasSubstr("rank"));
}

TEST(GatherNd, SlicesAndBatches) {
  const Array in = random_array({2, 3, 4}, 2);
  const Array pairs = integers({2, 2}, {1, 2, 0, -1});
  expect_near(run({"GatherND", {unknown(in), unknown(pairs)}})[0],
              fill({2, 4}, [&](const Shape& i) { return in.at({i[0] == 0 ? 1 : 0, 2, i[1]}); }), "slices");
  const Array batched = integers({2, 1}, {2, 0});
  expect_near(run({"GatherND", {unknown(in), unknown(batched)}, attributes({{"batch_dims", i64(1)}})})[0],
              fill({2, 4}, [&](const Shape& i) { return in.at({i[0], i[0] == 0 ? 2 : 0, i[1]}); }), "batches");
}

TEST(ScatterElements, TheLastUpdateCountsOrAllDo) {
  const Array data = random_array({3, 3}, 3), updates = random_array({4, 2}, 4);
  const Array places = integers({4, 2}, {0, 2, -1, 0, 0, 1, 1, 2});
  for (const std::string how : {"none", "add", "mul", "max", "min"}) {
    Array wanted = data;
    for (std::int64_t k = 0; k < 4; ++k) {
      for (std::int64_t j = 0; j < 2; ++j) {
        const std::int64_t at = whole(places.at({k, j})), row = at < 0 ? at + 3 : at;
        double& x = wanted.values[static_cast<std::size_t>(row * 3 + j)];
        const double u = updates.at({k, j});
        x = how == "none"  ? u
            : how == "add" ? x + u
            : how == "mul" ? x * u
            : how == "max" ? std::max(x, u)
                           : std::min(x, u);
      }
    }
    expect_near(run({"ScatterElements",
                     {unknown(data), unknown(places), unknown(updates)},
                     attributes({{"reduction", how}})})[0],
                wanted, how);
  }
}

TEST(ScatterNd, SlicesAtNamedPlaces) {
  const Array data = random_array({4, 2}, 5), updates = random_array({3, 2}, 6);
  const Array places = integers({3, 1}, {2, -4, 2});
  for (const std::string how : {"none", "add"}) {
    Array wanted = data;
    for (std::int64_t k = 0; k < 3; ++k) {
      const std::int64_t row = k == 1 ? 0 : 2;
      for (std::int64_t j = 0; j < 2; ++j) {
        double& x = wanted.values[static_cast<std::size_t>(row * 2 + j)];
        x = how == "none" ? updates.at({k, j}) : x + updates.at({k, j});
      }
    }
    expect_near(
        run({"ScatterND", {unknown(data), unknown(places), unknown(updates)}, attributes({{"reduction", how}})})[0],
        wanted, how);
  }
}

TEST(TensorScatter, LinearAndCircular) {
  const Array cache = random_array({2, 1, 5, 2}, 7), update = random_array({2, 1, 2, 2}, 8);
  const Array places = vector_of({1, 4});
  Array wanted = cache;
  const auto put = [&](std::int64_t b, std::int64_t row, std::int64_t from) {
    for (std::int64_t d = 0; d < 2; ++d)
      wanted.values[static_cast<std::size_t>(wanted.offset({b, 0, row, d}))] = update.at({b, 0, from, d});
  };
  put(0, 1, 0), put(0, 2, 1), put(1, 4, 0), put(1, 0, 1);
  expect_near(run({"TensorScatter",
                   {unknown(cache), unknown(update), unknown(places)},
                   attributes({{"mode", std::string("circular")}}),
                   24})[0],
              wanted, "circular");
}

TEST(OneHot, NegativeIndicesCountFromTheEnd) {
  const Array places = vector_of({1, -1, 5});
  const Array wanted = fill({3, 4}, [&](const Shape& i) {
    const std::int64_t at = i[0] == 0 ? 1 : i[0] == 1 ? 3 : 5;
    return at == i[1] ? 7.0 : 2.0;
  });
  const Input values = unknown(fill({2}, [](const Shape& i) { return i[0] == 1 ? 7.0 : 2.0; }));
  expect_near(run({"OneHot", {unknown(places), known(vector_of({4})), values}})[0], wanted, "last axis");
}

TEST(Trilu, BothTrianglesAtAnyDiagonal) {
  const Array in = random_array({2, 3, 4}, 9, 1, 2);
  for (const int upper : {0, 1}) {
    for (const int diagonal : {-2, 0, 1}) {
      const Array wanted = fill({2, 3, 4}, [&](const Shape& i) {
        const bool kept = upper == 1 ? i[2] - i[1] >= diagonal : i[2] - i[1] <= diagonal;
        return kept ? in.at(i) : 0;
      });
      expect_near(
          run({"Trilu", {unknown(in), known(integers({}, {diagonal}))}, attributes({{"upper", i64(upper)}})})[0],
          wanted, std::to_string(upper) + " " + std::to_string(diagonal));
    }
  }
}

TEST(Compress, KnownConditions) {
  const Array in = random_array({3, 2}, 10);
  const Input condition = known(as_type(vector_of({0, 1, 1}), ir::DType::Bool));
  expect_near(run({"Compress", {unknown(in), condition}, attributes({{"axis", i64(0)}})})[0],
              fill({2, 2}, [&](const Shape& i) { return in.at({i[0] + 1, i[1]}); }), "axis 0");
  expect_near(run({"Compress", {unknown(in), condition}})[0],
              fill({2}, [&](const Shape& i) { return in.values[static_cast<std::size_t>(i[0] + 1)]; }), "flat");
}

TEST(ReverseSequence, OnlyTheBeginning) {
  const Array in = random_array({4, 3}, 11), lengths = vector_of({4, 1, 3});
  expect_near(run({"ReverseSequence", {unknown(in), unknown(lengths)}})[0],
              fill({4, 3},
                   [&](const Shape& i) {
                     const auto length = whole(lengths.at({i[1]}));
                     return in.at({i[0] < length ? length - 1 - i[0] : i[0], i[1]});
                   }),
              "time first");
}

TEST(EyeLike, DiagonalOfTheType) {
  Built built({"EyeLike",
               {known(fill({3, 4}, [](const Shape&) { return 0; }))},
               attributes({{"k", i64(1)}, {"dtype", i64(7)}})});
  const std::vector<TensorValue> values = fold(built.node());
  EXPECT_EQ(values[0].type.text(), "i64[3,4]");
  EXPECT_EQ(values[0].integers(), (std::vector<std::int64_t>{0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
}

TEST(Windows, FollowTheirCosines) {
  Built built({"HannWindow", {known(integers({}, {4}))}});
  EXPECT_THAT(fold(built.node())[0].numbers(),
              ::testing::Pointwise(::testing::DoubleNear(1e-7), std::vector<double>{0, 0.5, 1, 0.5}));
  Built symmetric({"HannWindow", {known(integers({}, {3}))}, attributes({{"periodic", i64(0)}})});
  EXPECT_THAT(fold(symmetric.node())[0].numbers(),
              ::testing::Pointwise(::testing::DoubleNear(1e-7), std::vector<double>{0, 1, 0}));
}

double keys(double x) {
  x = std::abs(x);
  const double a = -0.75;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

/// What lies at a whole place along an axis: its index, or -1 for zeros.
std::int64_t outside(double place, std::int64_t size, const std::string& padding, bool aligned) {
  const double last = static_cast<double>(size - 1);
  if (padding == "border") return whole(std::min(std::max(place, 0.0), last));
  if (padding == "zeros") return place < 0 || place > last ? -1 : whole(place);
  const double low = aligned ? 0 : -0.5, high = aligned ? last : last + 0.5;
  while (place < low || place > high) place = place < low ? 2 * low - place : 2 * high - place;
  return whole(std::min(std::max(place, 0.0), last));
}

TEST(GridSample, EveryModeAndPadding) {
  const Array in = random_array({1, 2, 4, 3}, 12), grid = random_array({1, 3, 2, 2}, 13, -1.4, 1.4);
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    for (const std::string padding : {"zeros", "border", "reflection"}) {
      for (const bool aligned : {false, true}) {
        const auto at = [&](const Shape& i, int d) {
          const double place = grid.at({0, i[2], i[3], d == 0 ? 1 : 0});
          const auto size = static_cast<double>(d == 0 ? 4 : 3);
          double x = aligned ? (place + 1) / 2 * (size - 1) : ((place + 1) * size - 1) / 2;
          // Linear and nearest sampling move the place itself, cubic sampling each element it reads.
          if (mode == "cubic" || padding == "zeros") return x;
          if (padding == "reflection") {
            const double low = aligned ? 0 : -0.5, high = aligned ? size - 1 : size - 0.5;
            while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
          }
          return std::min(std::max(x, 0.0), size - 1);
        };
        const Array wanted = fill({1, 2, 3, 2}, [&](const Shape& i) {
          double sum = 0;
          for (int dy = -2; dy <= 2; ++dy) {
            for (int dx = -2; dx <= 2; ++dx) {
              const double y = at(i, 0), x = at(i, 1);
              const double y0 = (mode == "nearest" ? std::nearbyint(y) : std::floor(y)) + dy,
                           x0 = (mode == "nearest" ? std::nearbyint(x) : std::floor(x)) + dx;
              const auto weight = [&](double d, int step) {
                if (mode == "nearest") return step == 0 ? 1.0 : 0.0;
                return mode == "linear" ? std::max(0.0, 1 - std::abs(d)) : keys(d);
              };
              const double w = weight(y - y0, dy) * weight(x - x0, dx);
              const std::int64_t iy = outside(y0, 4, padding, aligned), ix = outside(x0, 3, padding, aligned);
              if (w != 0 && iy >= 0 && ix >= 0) sum += w * in.at({0, i[1], iy, ix});
            }
          }
          return sum;
        });
        expect_near(
            run({"GridSample",
                 {unknown(in), unknown(grid)},
                 attributes({{"mode", mode}, {"padding_mode", padding}, {"align_corners", i64(aligned ? 1 : 0)}}),
                 20})[0],
            wanted, mode + " " + padding + (aligned ? " aligned" : ""), 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace temper::ops::testing
