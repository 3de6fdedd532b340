#include "temper/ops/lstm.h"

#include <algorithm>
#include <array>

#include "temper/support/error.h"

namespace temper::ops {

using ir::Axis;
using ir::Expr;
using ir::Tensor;

namespace {

enum Gate : std::int64_t { kInput, kOutput, kForget, kCell };  // the order in W, R and B

struct Sizes {
  std::int64_t steps, batch, input, hidden, directions;
  bool batch_first;
};

void require_shape(const Node& node, std::size_t input, const std::vector<std::int64_t>& wanted, const char* name) {
  if (!node.has(input) || node.input(input).shape() == wanted) return;
  invalid(node, std::string(name) + " has type " + type_of(node.input(input)).text() + ", not " +
                    TensorType{node.input(input).dtype(), wanted}.text());
}

Sizes read_sizes(const Node& node) {
  const Attributes& a = *node.attributes;
  const std::string direction = a.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    invalid(node, "direction '" + direction + "' is not known", "expected forward, reverse or bidirectional");
  const std::vector<std::int64_t> x = node.input(0).shape(), r = node.input(2).shape();
  if (x.size() != 3 || r.size() != 3) invalid(node, "X and R must have rank 3");
  Sizes s{};
  s.batch_first = a.integer("layout", 0) == 1;
  s.steps = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = a.integer("hidden_size", r[2]);
  s.directions = direction == "bidirectional" ? 2 : 1;
  if (s.steps > kMaxLstmSteps)
    unsupported(node, "the sequence has " + std::to_string(s.steps) + " steps; at most " +
                          std::to_string(kMaxLstmSteps) + " are supported");
  if (a.has("clip") || a.integer("input_forget", 0) != 0) unsupported(node, "clip and input_forget");
  if (const auto* activations = a.find("activations")) {
    static const std::array<std::string, 3> usual{"Sigmoid", "Tanh", "Tanh"};
    const auto* names = std::get_if<std::vector<std::string>>(activations);
    for (std::size_t i = 0; names != nullptr && i < names->size(); ++i) {
      if ((*names)[i] != usual[i % 3])
        unsupported(node, "activation '" + (*names)[i] + "'", "Sigmoid, Tanh, Tanh are supported");
    }
  }
  if (node.has(4)) {
    for (const std::int64_t length : node.value(4).integers()) {
      if (length != s.steps) unsupported(node, "sequences that are shorter than the input");
    }
  }
  const std::vector<std::int64_t> state = s.batch_first ? std::vector<std::int64_t>{s.batch, s.directions, s.hidden}
                                                        : std::vector<std::int64_t>{s.directions, s.batch, s.hidden};
  require_shape(node, 1, {s.directions, 4 * s.hidden, s.input}, "W");
  require_shape(node, 2, {s.directions, 4 * s.hidden, s.hidden}, "R");
  require_shape(node, 3, {s.directions, 8 * s.hidden}, "B");
  require_shape(node, 5, state, "initial_h");
  require_shape(node, 6, state, "initial_c");
  require_shape(node, 7, {s.directions, 3 * s.hidden}, "P");
  return s;
}

/// The steps of one direction: `hidden[t]` and `cell` for time t of the input.
struct Direction {
  std::vector<Tensor> hidden;
  Tensor last_hidden, last_cell;
};

Direction build_direction(const Node& node, const Sizes& s, std::int64_t d, bool backward) {
  const std::string prefix = node.name + "_d" + std::to_string(d) + "_";
  const Tensor &x = node.input(0), &w = node.input(1), &r = node.input(2);
  const std::vector<ir::Extent> state{s.batch, s.hidden};
  const auto initial = [&](std::size_t input, const Axis& b, const Axis& h) {
    if (!node.has(input)) return ir::literal(0, x.dtype());
    return s.batch_first ? node.input(input)(b, d, h) : node.input(input)(d, b, h);
  };
  // Of all steps at once: [step, batch, gate and unit].
  const Tensor given = ir::define(prefix + "x", {s.steps, s.batch, 4 * s.hidden}, [&](Axis t, Axis b, Axis g) {
    const Axis k = ir::reduce("k", s.input);
    return ir::sum((s.batch_first ? x(b, t, k) : x(t, b, k)) * w(d, g, k), {k});
  });
  Direction out;
  out.hidden.resize(static_cast<std::size_t>(s.steps));
  for (std::int64_t step = 0; step < s.steps; ++step) {
    const std::int64_t t = backward ? s.steps - 1 - step : step;
    const std::string name = prefix + std::to_string(t) + "_";
    const bool first = step == 0;
    const Tensor previous_hidden = out.last_hidden, previous_cell = out.last_cell;
    const auto cell_before = [&](const Axis& b, const Axis& h) {
      return first ? initial(6, b, h) : previous_cell(b, h);
    };
    Tensor recurrent;
    if (!first || node.has(5)) {
      recurrent = ir::define(name + "r", {s.batch, 4 * s.hidden}, [&](Axis b, Axis g) {
        const Axis k = ir::reduce("k", s.hidden);
        return ir::sum((first ? initial(5, b, k) : previous_hidden(b, k)) * r(d, g, k), {k});
      });
    }
    const auto gate = [&](Gate which, const Axis& b, const Axis& h) {
      const Expr at = h + which * s.hidden;
      Expr sum = given(t, b, at);
      if (recurrent.stage()) sum = sum + recurrent(b, at);
      if (node.has(3)) sum = sum + node.input(3)(d, at) + node.input(3)(d, at + 4 * s.hidden);
      return sum;
    };
    // Peepholes: the gates see the cell, in the order input, output, forget.
    const auto peephole = [&](Gate which, const Axis& h, const Expr& cell) {
      return node.input(7)(d, h + which * s.hidden) * cell;
    };
    out.last_cell = ir::define(name + "c", state, [&](Axis b, Axis h) {
      const Expr before = cell_before(b, h);
      Expr in = gate(kInput, b, h), forget = gate(kForget, b, h);
      if (node.has(7)) {
        in = in + peephole(kInput, h, before);
        forget = forget + peephole(kForget, h, before);
      }
      return ir::Definition(ir::sigmoid(forget) * before + ir::sigmoid(in) * ir::tanh(gate(kCell, b, h)));
    });
    const Tensor cell = out.last_cell;
    out.last_hidden = ir::define(name + "h", state, [&](Axis b, Axis h) {
      Expr open = gate(kOutput, b, h);
      if (node.has(7)) open = open + peephole(kOutput, h, cell(b, h));
      return ir::Definition(ir::sigmoid(open) * ir::tanh(cell(b, h)));
    });
    out.hidden[static_cast<std::size_t>(t)] = out.last_hidden;
  }
  return out;
}

/// The element of `choices` that `axis` names.
template <class Read>
Expr choose(const Axis& axis, std::int64_t count, Read read) {
  Expr value = read(count - 1);
  for (std::int64_t i = count - 1; i-- > 0;) value = ir::select(axis < Expr(i + 1), read(i), value);
  return value;
}

}  // namespace

std::vector<Tensor> build_lstm(const Node& node) {
  const Sizes s = read_sizes(node);
  const bool reverse = node.attributes->text("direction", "forward") == "reverse";
  std::vector<Direction> directions;
  for (std::int64_t d = 0; d < s.directions; ++d) directions.push_back(build_direction(node, s, d, reverse || d == 1));
  const auto at = [&](std::int64_t d) -> const Direction& { return directions[static_cast<std::size_t>(d)]; };
  const auto hidden = [&](const Axis& t, const Axis& d, const Axis& b, const Axis& h) {
    return choose(d, s.directions, [&](std::int64_t i) {
      return choose(t, s.steps, [&](std::int64_t step) { return at(i).hidden[static_cast<std::size_t>(step)](b, h); });
    });
  };
  const auto state = [&](const std::string& name, auto last) {
    const auto element = [&](const Axis& d, const Axis& b, const Axis& h) {
      return ir::Definition(choose(d, s.directions, [&](std::int64_t i) { return last(at(i))(b, h); }));
    };
    if (s.batch_first)
      return ir::define(name, {s.batch, s.directions, s.hidden},
                        [&](Axis b, Axis d, Axis h) { return element(d, b, h); });
    return ir::define(name, {s.directions, s.batch, s.hidden},
                      [&](Axis d, Axis b, Axis h) { return element(d, b, h); });
  };
  const Tensor all =
      s.batch_first ? ir::define(node.name, {s.batch, s.steps, s.directions, s.hidden},
                                 [&](Axis b, Axis t, Axis d, Axis h) { return ir::Definition(hidden(t, d, b, h)); })
                    : ir::define(node.name, {s.steps, s.directions, s.batch, s.hidden},
                                 [&](Axis t, Axis d, Axis b, Axis h) { return ir::Definition(hidden(t, d, b, h)); });
  return {all, state(node.name + "_last_h", [](const Direction& d) { return d.last_hidden; }),
          state(node.name + "_last_c", [](const Direction& d) { return d.last_cell; })};
}

}  // namespace temper::ops
