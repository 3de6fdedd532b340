#include "temper/ops/epilogue.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "temper/ops/activations.h"
#include "temper/support/error.h"

namespace temper::ops {

using ir::Expr;
using ir::Tensor;

namespace {

using Arguments = std::span<const double>;

Expr like(const Expr& x, double value) { return ir::literal(value, x.dtype()); }

const std::array kKinds{
    EpilogueKind{"bias",
                 EpilogueOperand::Channel,
                 {},
                 "adds one value per channel",
                 [](const Expr& x, const Expr& y, Arguments) { return x + y; }},
    EpilogueKind{"scale",
                 EpilogueOperand::Channel,
                 {},
                 "multiplies by one value per channel",
                 [](const Expr& x, const Expr& y, Arguments) { return x * y; }},
    EpilogueKind{"add",
                 EpilogueOperand::Full,
                 {},
                 "adds a tensor of the output's shape",
                 [](const Expr& x, const Expr& y, Arguments) { return x + y; }},
    EpilogueKind{"sub",
                 EpilogueOperand::Full,
                 {},
                 "subtracts a tensor of the output's shape",
                 [](const Expr& x, const Expr& y, Arguments) { return x - y; }},
    EpilogueKind{"rsub",
                 EpilogueOperand::Full,
                 {},
                 "subtracts the value from a tensor of the output's shape",
                 [](const Expr& x, const Expr& y, Arguments) { return y - x; }},
    EpilogueKind{"mul",
                 EpilogueOperand::Full,
                 {},
                 "multiplies by a tensor of the output's shape",
                 [](const Expr& x, const Expr& y, Arguments) { return x * y; }},
    EpilogueKind{"upadd",
                 EpilogueOperand::Blocks,
                 {2, 2},
                 "adds a tensor whose pixels are repeated, so many rows and columns each",
                 [](const Expr& x, const Expr& y, Arguments) { return x + y; }},
    EpilogueKind{"imageadd",
                 EpilogueOperand::Image,
                 {},
                 "adds one value per image and channel",
                 [](const Expr& x, const Expr& y, Arguments) { return x + y; }},
    EpilogueKind{"imagemul",
                 EpilogueOperand::Image,
                 {},
                 "multiplies by one value per image and channel",
                 [](const Expr& x, const Expr& y, Arguments) { return x * y; }},
    EpilogueKind{"addc",
                 EpilogueOperand::None,
                 {0},
                 "adds a number",
                 [](const Expr& x, const Expr&, Arguments a) { return x + like(x, a[0]); }},
    EpilogueKind{"mulc",
                 EpilogueOperand::None,
                 {1},
                 "multiplies by a number",
                 [](const Expr& x, const Expr&, Arguments a) { return x * like(x, a[0]); }},
    EpilogueKind{"divc",
                 EpilogueOperand::None,
                 {1},
                 "divides by a number",
                 [](const Expr& x, const Expr&, Arguments a) { return x / like(x, a[0]); }},
    EpilogueKind{
        "relu", EpilogueOperand::None, {}, "max(x, 0)", [](const Expr& x, const Expr&, Arguments) { return relu(x); }},
    EpilogueKind{"clip",
                 EpilogueOperand::None,
                 {0, 6},
                 "min(max(x, low), high)",
                 [](const Expr& x, const Expr&, Arguments a) { return clip(x, a[0], a[1]); }},
    EpilogueKind{"leakyrelu",
                 EpilogueOperand::None,
                 {0.01},
                 "x or alpha*x",
                 [](const Expr& x, const Expr&, Arguments a) { return leaky_relu(x, a[0]); }},
    EpilogueKind{"hardsigmoid",
                 EpilogueOperand::None,
                 {0.2, 0.5},
                 "clip(alpha*x + beta, 0, 1)",
                 [](const Expr& x, const Expr&, Arguments a) { return hard_sigmoid(x, a[0], a[1]); }},
    EpilogueKind{"hardswish",
                 EpilogueOperand::None,
                 {},
                 "x * clip(x/6 + 1/2, 0, 1)",
                 [](const Expr& x, const Expr&, Arguments) { return hard_swish(x); }},
    EpilogueKind{"sigmoid",
                 EpilogueOperand::None,
                 {},
                 "1 / (1 + exp(-x))",
                 [](const Expr& x, const Expr&, Arguments) { return ir::sigmoid(x); }},
    EpilogueKind{"silu",
                 EpilogueOperand::None,
                 {},
                 "x * sigmoid(x)",
                 [](const Expr& x, const Expr&, Arguments) { return silu(x); }},
    EpilogueKind{"tanh",
                 EpilogueOperand::None,
                 {},
                 "tanh(x)",
                 [](const Expr& x, const Expr&, Arguments) { return ir::tanh(x); }},
    EpilogueKind{"gelu",
                 EpilogueOperand::None,
                 {},
                 "x/2 * (1 + erf(x/sqrt(2)))",
                 [](const Expr& x, const Expr&, Arguments) { return gelu(x); }},
    EpilogueKind{"gelutanh",
                 EpilogueOperand::None,
                 {},
                 "the tanh approximation of gelu",
                 [](const Expr& x, const Expr&, Arguments) { return gelu_tanh(x); }},
    EpilogueKind{"elu",
                 EpilogueOperand::None,
                 {1},
                 "x or alpha*(exp(x) - 1)",
                 [](const Expr& x, const Expr&, Arguments a) { return elu(x, a[0]); }},
    EpilogueKind{"softplus",
                 EpilogueOperand::None,
                 {},
                 "log(1 + exp(x))",
                 [](const Expr& x, const Expr&, Arguments) { return softplus(x); }},
    EpilogueKind{"mish",
                 EpilogueOperand::None,
                 {},
                 "x * tanh(softplus(x))",
                 [](const Expr& x, const Expr&, Arguments) { return mish(x); }},
    EpilogueKind{
        "exp", EpilogueOperand::None, {}, "exp(x)", [](const Expr& x, const Expr&, Arguments) { return ir::exp(x); }},
    EpilogueKind{
        "erf", EpilogueOperand::None, {}, "erf(x)", [](const Expr& x, const Expr&, Arguments) { return ir::erf(x); }},
    EpilogueKind{"sqrt",
                 EpilogueOperand::None,
                 {},
                 "sqrt(x)",
                 [](const Expr& x, const Expr&, Arguments) { return ir::sqrt(x); }},
    EpilogueKind{
        "abs", EpilogueOperand::None, {}, "|x|", [](const Expr& x, const Expr&, Arguments) { return ir::abs(x); }},
    EpilogueKind{"neg", EpilogueOperand::None, {}, "-x", [](const Expr& x, const Expr&, Arguments) { return -x; }},
    EpilogueKind{
        "square", EpilogueOperand::None, {}, "x * x", [](const Expr& x, const Expr&, Arguments) { return x * x; }},
};

std::string number_text(double value) {
  char buffer[40];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  // Items are joined by '+': 1e+05 is written 1e05.
  if (const std::size_t plus = text.find('+'); plus != std::string::npos) text.erase(plus, 1);
  return text;
}

EpilogueItem parse_item(std::string_view text) {
  const std::size_t colon = text.find(':');
  const EpilogueKind& kind = epilogue_kind(text.substr(0, colon));
  EpilogueItem item{std::string(kind.name), kind.defaults};
  if (colon == std::string_view::npos) return item;
  std::vector<double> given;
  std::string_view rest = text.substr(colon + 1);
  while (true) {
    const std::size_t end = rest.find(':');
    const std::string_view word = rest.substr(0, end);
    double value = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), value);
    if (parsed.ec != std::errc{} || parsed.ptr != word.data() + word.size()) {
      throw Error(ErrorCode::InvalidArgument, "'" + std::string(word) + "' is not a number",
                  "epilogue item '" + std::string(text) + "'", "arguments follow the name: clip:0:6");
    }
    given.push_back(value);
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (given.size() != kind.defaults.size()) {
    throw Error(ErrorCode::InvalidArgument,
                "'" + item.name + "' takes " + std::to_string(kind.defaults.size()) + " arguments, not " +
                    std::to_string(given.size()),
                "epilogue item '" + std::string(text) + "'");
  }
  item.arguments = std::move(given);
  return item;
}

/// A matrix has no axis of images.
bool has_images(const std::vector<ir::Axis>& axes) { return axes.size() > 2; }

/// How often the operand of `item` is repeated along each axis.
std::vector<std::int64_t> repeats(const EpilogueItem& item, std::span<const ir::Axis> axes,
                                  const ChannelAxes& channel_axes) {
  const std::string where = "epilogue item '" + item.name + "'";
  if (axes.size() != item.arguments.size() + 1 + channel_axes.size()) {
    throw Error(ErrorCode::Unsupported, "a result of rank " + std::to_string(axes.size()) + " has no rows of pixels",
                where, "use it behind a convolution");
  }
  std::vector<std::int64_t> result(axes.size(), 1);
  std::size_t next = 0;
  for (std::size_t i = 1; i < axes.size(); ++i) {
    if (std::ranges::find(channel_axes, i) != channel_axes.end()) continue;
    const double given = item.arguments[next++];
    const std::int64_t extent = axes[i].extent().value();
    if (!(given >= 1 && given <= static_cast<double>(extent)) || extent % static_cast<std::int64_t>(given) != 0 ||
        given != std::floor(given)) {
      throw Error(ErrorCode::InvalidArgument,
                  "axis '" + axes[i].name() + "' of " + std::to_string(extent) + " is not made of whole blocks of " +
                      number_text(given),
                  where);
    }
    result[i] = static_cast<std::int64_t>(given);
  }
  return result;
}

}  // namespace

std::span<const EpilogueKind> epilogue_kinds() { return kKinds; }

const EpilogueKind& epilogue_kind(std::string_view name) {
  std::string known;
  for (const EpilogueKind& kind : kKinds) {
    if (kind.name == name) return kind;
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw Error(ErrorCode::InvalidArgument, "unknown epilogue item '" + std::string(name) + "'", {},
              "expected one of " + known);
}

Epilogue parse_epilogue(std::string_view text) {
  Epilogue epilogue;
  if (text.empty() || text == "none") return epilogue;
  while (true) {
    const std::size_t plus = text.find('+');
    epilogue.push_back(parse_item(text.substr(0, plus)));
    if (plus == std::string_view::npos) return epilogue;
    text.remove_prefix(plus + 1);
  }
}

std::string to_string(const Epilogue& epilogue) {
  std::string text;
  for (const EpilogueItem& item : epilogue) {
    if (!text.empty()) text += '+';
    text += item.name;
    if (item.arguments == epilogue_kind(item.name).defaults) continue;
    for (double argument : item.arguments) text += ':' + number_text(argument);
  }
  return text;
}

std::vector<Tensor> epilogue_operands(const Tensor& anchor, const Epilogue& epilogue, const ChannelAxes& channel_axes,
                                      bool constants) {
  const auto& axes = anchor.stage()->axes;
  std::vector<Tensor> operands;
  std::map<std::string, int> used;
  for (const EpilogueItem& item : epilogue) {
    const EpilogueKind& kind = epilogue_kind(item.name);
    if (kind.operand == EpilogueOperand::None) continue;
    const int count = used[item.name]++;
    const std::string name = item.name + (count == 0 ? "" : std::to_string(count));
    std::vector<ir::Extent> shape;
    if (kind.operand == EpilogueOperand::Full) {
      for (const ir::Axis& axis : axes) shape.push_back(axis.extent());
    } else if (kind.operand == EpilogueOperand::Blocks) {
      const std::vector<std::int64_t> times = repeats(item, axes, channel_axes);
      for (std::size_t i = 0; i < axes.size(); ++i) shape.emplace_back(axes[i].extent().value() / times[i]);
    } else {
      if (kind.operand == EpilogueOperand::Image && has_images(axes)) shape.push_back(axes[0].extent());
      for (const std::size_t axis : channel_axes) shape.push_back(axes[axis].extent());
    }
    operands.push_back(kind.operand == EpilogueOperand::Channel && constants
                           ? ir::constant(name, shape, anchor.dtype())
                           : ir::placeholder(name, shape, anchor.dtype()));
  }
  return operands;
}

Tensor append_epilogue(const Tensor& anchor, const Epilogue& epilogue, const std::vector<Tensor>& operands,
                       const ChannelAxes& channel_axes, const std::string& name) {
  if (epilogue.empty()) return anchor;
  std::vector<ir::Extent> shape;
  std::vector<std::string> names;
  for (const ir::Axis& axis : anchor.stage()->axes) {
    shape.push_back(axis.extent());
    names.push_back(axis.name());
  }
  return ir::compute(
      name, shape,
      [&](std::span<const ir::Axis> axes) {
        const std::vector<Expr> index(axes.begin(), axes.end());
        Expr value = anchor.at(index);
        std::size_t next = 0;
        for (const EpilogueItem& item : epilogue) {
          const EpilogueKind& kind = epilogue_kind(item.name);
          Expr operand;
          if (kind.operand != EpilogueOperand::None) {
            TEMPER_CHECK(next < operands.size(), "one operand for each epilogue item that reads one");
            const Tensor& tensor = operands[next++];
            switch (kind.operand) {
              case EpilogueOperand::Channel:
              case EpilogueOperand::Image: {
                std::vector<Expr> place;
                if (tensor.shape().size() > channel_axes.size()) place.push_back(index[0]);
                for (const std::size_t axis : channel_axes) place.push_back(index[axis]);
                operand = tensor.at(place);
                break;
              }
              case EpilogueOperand::Blocks: {
                const std::vector<std::int64_t> times = repeats(item, axes, channel_axes);
                std::vector<Expr> block = index;
                for (std::size_t d = 0; d < block.size(); ++d) {
                  if (times[d] > 1) block[d] = ir::floor_div(block[d], times[d]);
                }
                operand = tensor.at(block);
                break;
              }
              default: operand = tensor.at(index); break;
            }
          }
          value = kind.apply(value, operand, item.arguments);
        }
        return ir::Definition(value);
      },
      names);
}

}  // namespace temper::ops
