#include "temper/ops/recurrent.h"

#include <array>
#include <functional>
#include <string>

#include "temper/ops/activations.h"
#include "temper/ops/lstm.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

struct Recurrence {
  std::int64_t steps = 1, batch = 1, inputs = 1, units = 1, directions = 1;
  bool batch_first = false, reverse = false;
};

void require_shape(const Node& node, std::size_t input, const std::vector<std::int64_t>& wanted, const char* name) {
  if (!node.has(input) || node.input(input).shape() == wanted) return;
  invalid(node, std::string(name) + " has type " + type_of(node.input(input)).text() + ", not " +
                    TensorType{node.input(input).dtype(), wanted}.text());
}

/// Inputs X, W, R, B, sequence_lens, initial_h of a cell with `gates` gates.
Recurrence read(const Node& node, std::int64_t gates) {
  const Attributes& a = *node.attributes;
  const std::string direction = a.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    invalid(node, "direction '" + direction + "' is not known", "expected forward, reverse or bidirectional");
  const std::vector<std::int64_t> x = node.input(0).shape(), r = node.input(2).shape();
  if (x.size() != 3 || r.size() != 3) invalid(node, "X and R must have rank 3");
  Recurrence s;
  s.batch_first = a.integer("layout", 0) == 1;
  s.steps = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.inputs = x[2];
  s.units = a.integer("hidden_size", r[2]);
  s.directions = direction == "bidirectional" ? 2 : 1;
  s.reverse = direction == "reverse";
  if (s.steps > kMaxLstmSteps)
    unsupported(node, "the sequence has " + std::to_string(s.steps) + " steps; at most " +
                          std::to_string(kMaxLstmSteps) + " are supported");
  if (a.has("clip")) unsupported(node, "clip");
  if (node.has(4)) {
    for (const std::int64_t length : node.value(4).integers()) {
      if (length != s.steps) unsupported(node, "sequences that are shorter than the input");
    }
  }
  require_shape(node, 1, {s.directions, gates * s.units, s.inputs}, "W");
  require_shape(node, 2, {s.directions, gates * s.units, s.units}, "R");
  require_shape(node, 3, {s.directions, 2 * gates * s.units}, "B");
  require_shape(node, 5,
                s.batch_first ? std::vector<std::int64_t>{s.batch, s.directions, s.units}
                              : std::vector<std::int64_t>{s.directions, s.batch, s.units},
                "initial_h");
  return s;
}

/// Names of the activations, of each direction in turn; all as `usual` when none are given.
std::string activation(const Node& node, std::size_t place, const std::string& usual) {
  const auto* given = node.attributes->find("activations");
  const auto* names = given == nullptr ? nullptr : std::get_if<std::vector<std::string>>(given);
  return names == nullptr || place >= names->size() ? usual : (*names)[place];
}

/// What a cell sees at one step of one direction.
struct Step {
  const Node& node;
  const Recurrence& s;
  std::int64_t direction, time;
  std::string name;
  Tensor given;                                              ///< x·W of all steps: [step, batch, gate and unit]
  std::function<Expr(const Expr& b, const Expr& h)> before;  ///< the state; zero at the start without an initial one

  /// x·W and the bias of W.
  Expr input(std::int64_t gate, const Axis& b, const Axis& h) const {
    const Expr at = h + gate * s.units;
    const Expr sum = given(time, b, at);
    return node.has(3) ? sum + node.input(3)(direction, at) : sum;
  }
  /// state·R of one gate, as a stage.
  Tensor recurrent(std::int64_t gate, const std::string& role,
                   const std::function<Expr(const Expr&, const Expr&)>& state) const {
    return ir::define(name + role, {s.batch, s.units}, [&](Axis b, Axis h) {
      const Axis k = ir::reduce("k", s.units);
      return ir::sum(state(b, k) * node.input(2)(direction, h + gate * s.units, k), {k});
    });
  }
  /// The bias of R; zero when there is none.
  Expr bias(std::int64_t gate, std::int64_t gates, const Axis& h) const {
    if (!node.has(3)) return ir::literal(0, node.input(0).dtype());
    return node.input(3)(direction, h + (gates + gate) * s.units);
  }
};

using Cell = std::function<Tensor(const Step&)>;

template <class Read>
Expr choose(const Axis& axis, std::int64_t count, Read read_at) {
  Expr value = read_at(count - 1);
  for (std::int64_t i = count - 1; i-- > 0;) value = ir::select(axis < Expr(i + 1), read_at(i), value);
  return value;
}

std::vector<Tensor> unroll(const Node& node, const Recurrence& s, std::int64_t gates, const Cell& cell) {
  const Tensor &x = node.input(0), &w = node.input(1);
  std::vector<std::vector<Tensor>> hidden;  // by direction and time
  std::vector<Tensor> last;
  for (std::int64_t d = 0; d < s.directions; ++d) {
    const std::string prefix = node.name + "_d" + std::to_string(d) + "_";
    const Tensor given = ir::define(prefix + "x", {s.steps, s.batch, gates * s.units}, [&](Axis t, Axis b, Axis g) {
      const Axis k = ir::reduce("k", s.inputs);
      return ir::sum((s.batch_first ? x(b, t, k) : x(t, b, k)) * w(d, g, k), {k});
    });
    hidden.emplace_back(static_cast<std::size_t>(s.steps));
    Tensor state;
    for (std::int64_t step = 0; step < s.steps; ++step) {
      const std::int64_t t = s.reverse || d == 1 ? s.steps - 1 - step : step;
      const auto before = [&node, &s, state, d](const Expr& b, const Expr& h) {
        if (state.stage()) return state(b, h);
        if (!node.has(5)) return ir::literal(0, node.input(0).dtype());
        return s.batch_first ? node.input(5)(b, d, h) : node.input(5)(d, b, h);
      };
      state = cell({node, s, d, t, prefix + std::to_string(t) + "_", given, before});
      hidden.back()[static_cast<std::size_t>(t)] = state;
    }
    last.push_back(state);
  }
  const auto all = [&](const Axis& t, const Axis& d, const Axis& b, const Axis& h) {
    return ir::Definition(choose(d, s.directions, [&](std::int64_t i) {
      return choose(t, s.steps, [&](std::int64_t step) {
        return hidden[static_cast<std::size_t>(i)][static_cast<std::size_t>(step)](b, h);
      });
    }));
  };
  const auto final_state = [&](const Axis& d, const Axis& b, const Axis& h) {
    return ir::Definition(
        choose(d, s.directions, [&](std::int64_t i) { return last[static_cast<std::size_t>(i)](b, h); }));
  };
  const std::string name = node.name + "_last";
  if (s.batch_first) {
    return {ir::define(node.name, {s.batch, s.steps, s.directions, s.units},
                       [&](Axis b, Axis t, Axis d, Axis h) { return all(t, d, b, h); }),
            ir::define(name, {s.batch, s.directions, s.units},
                       [&](Axis b, Axis d, Axis h) { return final_state(d, b, h); })};
  }
  return {
      ir::define(node.name, {s.steps, s.directions, s.batch, s.units},
                 [&](Axis t, Axis d, Axis b, Axis h) { return all(t, d, b, h); }),
      ir::define(name, {s.directions, s.batch, s.units}, [&](Axis d, Axis b, Axis h) { return final_state(d, b, h); })};
}

}  // namespace

std::vector<Tensor> build_gru(const Node& node) {
  const Recurrence s = read(node, 3);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string wanted = i % 2 == 0 ? "Sigmoid" : "Tanh", name = activation(node, i, wanted);
    if (name != wanted) unsupported(node, "activation '" + name + "'", "Sigmoid and Tanh are supported");
  }
  const bool reset_behind = node.attributes->integer("linear_before_reset", 0) != 0;
  return unroll(node, s, 3, [&](const Step& step) {
    const auto before = [&](const Expr& b, const Expr& h) { return step.before(b, h); };
    const auto gate = [&](std::int64_t which, const std::string& role) {
      const Tensor product = step.recurrent(which, role + "_r", before);
      return ir::define(step.name + role, {s.batch, s.units}, [&](Axis b, Axis h) {
        return ir::Definition(ir::sigmoid(step.input(which, b, h) + product(b, h) + step.bias(which, 3, h)));
      });
    };
    const Tensor update = gate(0, "z"), reset = gate(1, "reset");
    const Tensor product = step.recurrent(2, "h_r", [&](const Expr& b, const Expr& k) {
      return reset_behind ? before(b, k) : reset(b, k) * before(b, k);
    });
    return ir::define(step.name + "h", {s.batch, s.units}, [&](Axis b, Axis h) {
      const Expr recurrent = product(b, h) + step.bias(2, 3, h);
      const Expr hidden = ir::tanh(step.input(2, b, h) + (reset_behind ? reset(b, h) * recurrent : recurrent));
      const Expr z = update(b, h);
      return ir::Definition((ir::literal(1, hidden.dtype()) - z) * hidden + z * before(b, h));
    });
  });
}

std::vector<Tensor> build_rnn(const Node& node) {
  const Recurrence s = read(node, 1);
  return unroll(node, s, 1, [&](const Step& step) {
    const std::string name = activation(node, static_cast<std::size_t>(step.direction), "Tanh");
    if (name != "Tanh" && name != "Relu" && name != "Sigmoid")
      unsupported(node, "activation '" + name + "'", "Tanh, Relu and Sigmoid are supported");
    const Tensor product = step.recurrent(0, "r", [&](const Expr& b, const Expr& k) { return step.before(b, k); });
    return ir::define(step.name + "h", {s.batch, s.units}, [&](Axis b, Axis h) {
      const Expr sum = step.input(0, b, h) + product(b, h) + step.bias(0, 1, h);
      return ir::Definition(name == "Relu" ? relu(sum) : name == "Tanh" ? ir::tanh(sum) : ir::sigmoid(sum));
    });
  });
}

}  // namespace temper::ops
