// LSTM against the recurrence written as loops.
#include <gmock/gmock.h>

#include "ops/harness.h"

namespace temper::ops::testing {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Weights {
  Array w, r, b, p;
};

/// One direction, of one example: hidden states by time, then the last cell.
std::vector<std::vector<double>> recurrence(const Array& x, const Weights& k, std::int64_t d, std::int64_t b,
                                            std::vector<double> h, std::vector<double> c, bool backward,
                                            bool peepholes) {
  const std::int64_t steps = x.shape[0], inputs = x.shape[2], units = k.r.shape[2];
  std::vector<std::vector<double>> out(static_cast<std::size_t>(steps) + 1);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t t = backward ? steps - 1 - step : step;
    std::vector<double> next_h(h.size()), next_c(c.size());
    for (std::int64_t u = 0; u < units; ++u) {
      const auto at = static_cast<std::size_t>(u);
      const auto gate = [&](std::int64_t g) {
        const std::int64_t row = g * units + u;
        double sum = k.b.at({d, row}) + k.b.at({d, 4 * units + row});
        for (std::int64_t i = 0; i < inputs; ++i) sum += x.at({t, b, i}) * k.w.at({d, row, i});
        for (std::int64_t i = 0; i < units; ++i) sum += h[static_cast<std::size_t>(i)] * k.r.at({d, row, i});
        return sum;
      };
      const auto peep = [&](std::int64_t g, double cell) {
        return peepholes ? k.p.at({d, g * units + u}) * cell : 0.0;
      };
      next_c[at] = sigmoid(gate(2) + peep(2, c[at])) * c[at] + sigmoid(gate(0) + peep(0, c[at])) * std::tanh(gate(3));
      next_h[at] = sigmoid(gate(1) + peep(1, next_c[at])) * std::tanh(next_c[at]);
    }
    h = out[static_cast<std::size_t>(t)] = next_h;
    c = next_c;
  }
  out.back() = c;
  return out;
}

TEST(Lstm, EveryDirectionWithAndWithoutStateAndPeepholes) {
  const std::int64_t steps = 3, batch = 2, inputs = 4, units = 5;
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    for (const bool state : {false, true}) {
      for (const bool peepholes : {false, true}) {
        const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
        const Array x = random_array({steps, batch, inputs}, 1);
        const Weights k{random_array({directions, 4 * units, inputs}, 2),
                        random_array({directions, 4 * units, units}, 3), random_array({directions, 8 * units}, 4),
                        random_array({directions, 3 * units}, 5)};
        const Array h = random_array({directions, batch, units}, 6), c = random_array({directions, batch, units}, 7);
        std::vector<Input> in{unknown(x), known(k.w), known(k.r), known(k.b), absent()};
        in.push_back(state ? unknown(h) : absent());
        in.push_back(state ? unknown(c) : absent());
        in.push_back(peepholes ? known(k.p) : absent());
        const std::vector<Array> got =
            run({"LSTM", in, attributes({{"direction", direction}, {"hidden_size", units}}), 14, Layout::Nchw, 3});
        const auto wanted = [&](std::int64_t d, std::int64_t b) {
          std::vector<double> h0(static_cast<std::size_t>(units), 0.0), c0 = h0;
          for (std::int64_t u = 0; state && u < units; ++u) {
            h0[static_cast<std::size_t>(u)] = h.at({d, b, u});
            c0[static_cast<std::size_t>(u)] = c.at({d, b, u});
          }
          return recurrence(x, k, d, b, h0, c0, direction == "reverse" || d == 1, peepholes);
        };
        const std::string what = direction + (state ? " state" : "") + (peepholes ? " peepholes" : "");
        expect_near(got[0],
                    fill({steps, directions, batch, units},
                         [&](const Shape& i) {
                           return wanted(i[1], i[2])[static_cast<std::size_t>(i[0])][static_cast<std::size_t>(i[3])];
                         }),
                    what);
        expect_near(
            got[1],
            fill({directions, batch, units},
                 [&](const Shape& i) {
                   const bool backward = direction == "reverse" || i[0] == 1;
                   return wanted(
                       i[0], i[1])[backward ? 0U : static_cast<std::size_t>(steps) - 1][static_cast<std::size_t>(i[2])];
                 }),
            what + " Y_h");
        expect_near(got[2],
                    fill({directions, batch, units},
                         [&](const Shape& i) { return wanted(i[0], i[1]).back()[static_cast<std::size_t>(i[2])]; }),
                    what + " Y_c");
      }
    }
  }
}

TEST(Lstm, RefusesWhatIsNotThere) {
  const std::vector<Input> in{unknown(random_array({2, 1, 4}, 1)), known(random_array({1, 12, 4}, 2)),
                              known(random_array({1, 12, 3}, 3))};
  using Texts = std::vector<std::string>;
  EXPECT_THAT(build_error({"LSTM", in, attributes({{"activations", Texts{"Relu", "Tanh", "Tanh"}}}), 14}),
              ::testing::HasSubstr("unsupported: activation 'Relu'"));
  EXPECT_THAT(build_error({"LSTM", in, attributes({{"clip", 1.0}}), 14}), ::testing::HasSubstr("unsupported: clip"));
  EXPECT_THAT(build_error({"LSTM", in, attributes({{"direction", std::string("up")}}), 14}),
              ::testing::HasSubstr("direction 'up' is not known"));
  std::vector<Input> wrong = in;
  wrong[1] = known(random_array({1, 12, 5}, 2));
  EXPECT_EQ(build_error({"LSTM", wrong, {}, 14}), "invalid_model: W has type f32[1,12,5], not f32[1,12,4] (LSTM)");
  std::vector<Input> longer = in;
  longer[0] = unknown(random_array({65, 1, 4}, 1));
  EXPECT_THAT(build_error({"LSTM", longer, {}, 14}), ::testing::HasSubstr("65 steps; at most 64"));
}

/// States by time of one example of GRU (gates update, reset, hidden) or RNN (one gate).
std::vector<std::vector<double>> states(const std::string& op, const Array& x, const Array& w, const Array& r,
                                        const Array& bias, std::int64_t d, std::int64_t b, std::vector<double> h,
                                        bool backward, bool reset_behind) {
  const std::int64_t steps = x.shape[0], units = r.shape[2], gates = op == "GRU" ? 3 : 1;
  std::vector<std::vector<double>> out(static_cast<std::size_t>(steps));
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t t = backward ? steps - 1 - step : step;
    const auto in = [&](std::int64_t gate, std::int64_t u) {
      double sum = bias.at({d, gate * units + u});
      for (std::int64_t i = 0; i < x.shape[2]; ++i) sum += x.at({t, b, i}) * w.at({d, gate * units + u, i});
      return sum;
    };
    const auto back = [&](std::int64_t gate, std::int64_t u, const std::vector<double>& state) {
      double sum = bias.at({d, (gates + gate) * units + u});
      for (std::int64_t i = 0; i < units; ++i)
        sum += state[static_cast<std::size_t>(i)] * r.at({d, gate * units + u, i});
      return sum;
    };
    std::vector<double> next(h.size()), gated(h.size());
    for (std::int64_t u = 0; u < units && op == "GRU"; ++u)
      gated[static_cast<std::size_t>(u)] = sigmoid(in(1, u) + back(1, u, h)) * h[static_cast<std::size_t>(u)];
    for (std::int64_t u = 0; u < units; ++u) {
      double& state = next[static_cast<std::size_t>(u)];
      if (op == "RNN") {
        state = std::tanh(in(0, u) + back(0, u, h));
        continue;
      }
      const double z = sigmoid(in(0, u) + back(0, u, h)), reset = sigmoid(in(1, u) + back(1, u, h));
      const double hidden = std::tanh(in(2, u) + (reset_behind ? reset * back(2, u, h) : back(2, u, gated)));
      state = (1 - z) * hidden + z * h[static_cast<std::size_t>(u)];
    }
    h = out[static_cast<std::size_t>(t)] = next;
  }
  return out;
}

TEST(GruAndRnn, EveryDirectionWithAndWithoutState) {
  const std::int64_t steps = 3, batch = 2, inputs = 4, units = 5;
  for (const std::string op : {"GRU", "RNN"}) {
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      for (const bool reset_behind : {false, true}) {
        const std::int64_t directions = direction == "bidirectional" ? 2 : 1, gates = op == "GRU" ? 3 : 1;
        const Array x = random_array({steps, batch, inputs}, 21),
                    w = random_array({directions, gates * units, inputs}, 22),
                    r = random_array({directions, gates * units, units}, 23),
                    bias = random_array({directions, 2 * gates * units}, 24),
                    initial = random_array({directions, batch, units}, 25);
        const auto wanted = [&](std::int64_t t, std::int64_t d, std::int64_t b, std::int64_t u) {
          std::vector<double> h;
          for (std::int64_t i = 0; i < units; ++i) h.push_back(reset_behind ? initial.at({d, b, i}) : 0);
          return states(op, x, w, r, bias, d, b, h, direction == "reverse" || d == 1,
                        reset_behind)[static_cast<std::size_t>(t)][static_cast<std::size_t>(u)];
        };
        const std::vector<Array> got = run(
            {op,
             {unknown(x), unknown(w), unknown(r), unknown(bias), absent(), reset_behind ? unknown(initial) : absent()},
             attributes({{"direction", direction},
                         {"hidden_size", units},
                         {"linear_before_reset", i64(reset_behind ? 1 : 0)}})});
        const std::string what = op + " " + direction;
        expect_near(
            got[0],
            fill({steps, directions, batch, units}, [&](const Shape& i) { return wanted(i[0], i[1], i[2], i[3]); }),
            what, 1e-5);
        expect_near(got[1],
                    fill({directions, batch, units},
                         [&](const Shape& i) {
                           const bool backward = direction == "reverse" || i[0] == 1;
                           return wanted(backward ? 0 : steps - 1, i[0], i[1], i[2]);
                         }),
                    what + ", last", 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace temper::ops::testing
