#include "graph/random_model.h"

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <utility>

#include "graph/numbers.h"

namespace temper::graph::testing {
namespace {

using List = std::vector<std::int64_t>;

/// Concatenations of concatenations stop growing here.
constexpr std::int64_t kMostJoined = 2000;

class Generator {
 public:
  explicit Generator(const std::vector<std::uint8_t>& decisions) : decisions_(decisions), b_(18) {
    std::seed_seq seed(decisions.begin(), decisions.end());
    random_.seed(seed);
  }

  ModelBuilder run() {
    b_.input("x", {3, 3, 6, 5}).input("z", {3, 5, 4});
    values_ = {{"x", {3, 3, 6, 5}, 0}, {"z", {3, 5, 4}, 0}};
    using Step = void (Generator::*)();
    constexpr std::array<Step, 28> kSteps{
        &Generator::conv,       &Generator::conv,   &Generator::conv,        &Generator::activation,
        &Generator::activation, &Generator::clip,   &Generator::binary,      &Generator::binary,
        &Generator::live,       &Generator::live,   &Generator::with_number, &Generator::silu,
        &Generator::pool,       &Generator::excite, &Generator::concat,      &Generator::transpose,
        &Generator::product,    &Generator::attend, &Generator::reduce,      &Generator::normalise,
        &Generator::pad,        &Generator::slice,  &Generator::split,       &Generator::gather,
        &Generator::join,       &Generator::join,   &Generator::branches,    &Generator::halves};
    while (next_ < decisions_.size() && values_.size() < 24) (this->*kSteps[choose(kSteps.size())])();
    for (std::size_t i = 2; i < values_.size(); ++i) {
      if (values_[i].readers == 0 || choose(8) == 1) b_.output(values_[i].name);
    }
    if (values_.size() == 2) b_.node("Relu", {"x"}, {"only"}).output("only");
    return b_;
  }

 private:
  struct Entry {
    std::string name;
    List shape;
    int readers;
  };

  std::size_t choose(std::size_t count) { return next_ < decisions_.size() ? decisions_[next_++] % count : 0; }

  /// One of the values, newer ones more often; with `rank`, the newest of that rank.
  std::size_t pick(std::size_t rank = 0) {
    const std::size_t back = choose(3);
    std::size_t found = 0;
    for (std::size_t i = 0, seen = 0; i < values_.size(); ++i) {
      const std::size_t candidate = values_.size() - 1 - i;
      if (rank != 0 && values_[candidate].shape.size() != rank) continue;
      found = candidate;
      if (seen++ == back) break;
    }
    return found;
  }

  std::string read(std::size_t i) {
    ++values_[i].readers;
    return values_[i].name;
  }
  template <class... Attribute>
  void add(const std::string& op, const std::vector<std::string>& inputs, const List& shape,
           const Attribute&... attributes) {
    const std::string name = "v" + std::to_string(values_.size());
    b_.node(op, inputs, {name}, attributes...);
    values_.push_back({name, shape, 0});
  }
  std::string constant(const List& shape) {
    const std::string name = "c" + std::to_string(constants_++);
    b_.floats(name, shape, random_numbers(random_, element_count(shape)));
    return name;
  }

  void conv() {
    constexpr std::array<std::int64_t, 8> kChannels{1, 2, 3, 5, 6, 7, 9, 13};
    const std::size_t i = pick(4);
    const List in = values_[i].shape;
    const std::int64_t kernel = choose(2) == 0 ? 1 : 3, stride = choose(3) == 1 ? 2 : 1;
    const std::int64_t dilation = kernel == 3 && choose(4) == 1 ? 2 : 1;
    const bool depthwise = choose(3) == 1;
    std::int64_t oc = depthwise ? in[1] : kChannels[choose(kChannels.size())], groups = depthwise ? in[1] : 1;
    if (!depthwise && in[1] % 3 == 0 && oc % 3 == 0 && choose(2) == 1) groups = 3;
    const std::int64_t pad = kernel / 2 * dilation;
    std::vector<std::string> inputs{read(i), constant({oc, in[1] / groups, kernel, kernel})};
    if (choose(2) == 1) inputs.push_back(constant({oc}));
    const auto out = [&](std::int64_t size) { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; };
    add("Conv", inputs, {in[0], oc, out(in[2]), out(in[3])}, attribute("pads", List{pad, pad, pad, pad}),
        attribute("strides", List{stride, stride}), attribute("dilations", List{dilation, dilation}),
        attribute("group", groups));
    if (choose(3) != 1) return;
    const std::size_t conv = values_.size() - 1;
    const std::string variance = "c" + std::to_string(constants_++);
    b_.floats(variance, {oc}, std::vector<float>(static_cast<std::size_t>(oc), 0.5f));
    add("BatchNormalization", {read(conv), constant({oc}), constant({oc}), constant({oc}), variance},
        values_[conv].shape);
  }

  void activation() {
    constexpr std::array<const char*, 8> kOps{"Relu", "HardSwish", "HardSigmoid", "Sigmoid",
                                              "Tanh", "LeakyRelu", "Abs",         "Neg"};
    const std::size_t i = pick();
    add(kOps[choose(kOps.size())], {read(i)}, values_[i].shape);
  }

  /// Two values of one shape, or a value and a constant that broadcasts.
  void binary() {
    constexpr std::array<const char*, 3> kOps{"Add", "Mul", "Sub"};
    const std::string op = kOps[choose(kOps.size())];
    const std::size_t i = pick();
    const List shape = values_[i].shape;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      if (j == i || values_[j].shape != shape || choose(2) == 1) continue;
      const bool swapped = choose(2) == 1;
      const std::string left = read(swapped ? j : i), right = read(swapped ? i : j);
      return add(op, {left, right}, shape);
    }
    List other = shape;
    for (std::int64_t& size : other) size = choose(2) == 1 ? size : 1;
    other.erase(other.begin(), other.begin() + static_cast<std::ptrdiff_t>(choose(other.size())));
    const std::string c = constant(other), v = read(i);
    add(op, choose(2) == 1 ? std::vector{c, v} : std::vector{v, c}, shape);
  }

  /// The same operator twice, and both results together: a branch that joins again.
  void live() {
    constexpr std::array<const char*, 4> kBranch{"Relu", "Tanh", "HardSwish", "Neg"};
    constexpr std::array<const char*, 4> kJoin{"Add", "Mul", "Max", "Min"};
    const std::size_t i = pick();
    const List shape = values_[i].shape;
    add(kBranch[choose(kBranch.size())], {read(i)}, shape);
    const std::size_t left = values_.size() - 1;
    add(kBranch[choose(kBranch.size())], {read(i)}, shape);
    const std::size_t right = values_.size() - 1;
    add(kJoin[choose(kJoin.size())], {read(left), read(right)}, shape);
  }

  std::string number(float value) {
    const std::string name = "c" + std::to_string(constants_++);
    b_.floats(name, {}, {value});
    return name;
  }
  std::string whole(const List& values) {
    const std::string name = "c" + std::to_string(constants_++);
    b_.integers(name, values);
    return name;
  }

  void clip() {
    const std::size_t i = pick();
    const std::string low = number(-0.5f);
    add("Clip", choose(2) == 1 ? std::vector{read(i), low, number(6.0f)} : std::vector{read(i), low}, values_[i].shape);
  }

  void with_number() {
    const std::size_t i = pick();
    const std::string c = "c" + std::to_string(constants_++);
    b_.floats(c, {}, {choose(2) == 1 ? 0.25f : 3.0f});
    add(choose(2) == 1 ? "Div" : "Mul", {read(i), c}, values_[i].shape);
  }

  void silu() {
    const std::size_t i = pick();
    add("Sigmoid", {read(i)}, values_[i].shape);
    const std::size_t gate = values_.size() - 1;
    add("Mul", {read(i), read(gate)}, values_[i].shape);
  }

  void pool() {
    const std::size_t i = pick(4);
    const List in = values_[i].shape;
    if (in[2] < 2 || in[3] < 2) return add("GlobalAveragePool", {read(i)}, {in[0], in[1], 1, 1});
    const List out{in[0], in[1], (in[2] - 2) / 2 + 1, (in[3] - 2) / 2 + 1};
    add(choose(2) == 1 ? "AveragePool" : "MaxPool", {read(i)}, out, attribute("kernel_shape", List{2, 2}),
        attribute("strides", List{2, 2}));
  }

  /// A convolution of single pixels.
  std::size_t pointwise(std::size_t i, std::int64_t channels) {
    List shape = values_[i].shape;
    const std::string weights = constant({channels, shape[1], 1, 1});
    shape[1] = channels;
    add("Conv", {read(i), weights}, shape);
    return values_.size() - 1;
  }

  /// Squeeze-excite of a value or of a convolution of it, with products in its gate, the value added again, and a
  /// smaller one upsampled and added behind it.
  void excite() {
    const std::size_t i = pick(4), y = choose(2) == 1 ? pointwise(i, 2 * values_[i].shape[1] + 1) : i;
    const List shape = values_[y].shape, one{shape[0], shape[1], 1, 1};
    const auto last = [&] { return values_.size() - 1; };
    add("GlobalAveragePool", {read(y)}, one);
    if (choose(2) == 1) {
      add("Relu", {read(pointwise(last(), 2))}, {shape[0], 2, 1, 1});
      pointwise(last(), shape[1]);
    }
    add("HardSigmoid", {read(last())}, one);
    add("Mul", {read(last()), read(y)}, shape);
    if (choose(2) == 1) add("Add", {read(y), read(last())}, shape);
    const List factors{shape[2] % 2 == 0 ? 2 : 1, shape[3] % 2 == 0 ? 2 : 1};
    if (factors == List{1, 1} || choose(2) != 1) return;
    const std::size_t excited = last();
    add("AveragePool", {read(i)}, {shape[0], values_[i].shape[1], shape[2] / factors[0], shape[3] / factors[1]},
        attribute("kernel_shape", factors), attribute("strides", factors));
    pointwise(last(), shape[1]);
    const std::string scales = "c" + std::to_string(constants_++);
    b_.floats(scales, {4}, {1, 1, static_cast<float>(factors[0]), static_cast<float>(factors[1])});
    add("Resize", {read(last()), "", scales}, shape, attribute("mode", std::string("nearest")));
    add("Add", {read(excited), read(last())}, shape);
  }

  void concat() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    const std::size_t axis = choose(in.size());
    List out = in;
    out[axis] *= 2;
    const std::string name = read(i);
    add("Concat", {name, name}, out, attribute("axis", static_cast<std::int64_t>(axis)));
  }

  /// Values side by side that differ along one axis at most, each one once.
  void join() {
    const std::size_t i = pick();
    List out = values_[i].shape;
    const std::size_t axis = choose(out.size());
    std::vector<std::string> inputs{read(i)};
    for (std::size_t j = values_.size(); j-- > 2 && inputs.size() < 4;) {
      List other = values_[j].shape;
      if (j == i || other.size() != out.size() || choose(3) == 1) continue;
      const std::int64_t size = std::exchange(other[axis], out[axis]);
      if (other != out) continue;
      if (element_count(out) > kMostJoined) break;
      out[axis] += size;
      inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(choose(inputs.size() + 1)), read(j));
    }
    add("Concat", inputs, out, attribute("axis", static_cast<std::int64_t>(axis)));
  }

  /// Several results of one value side by side; the last may be the value itself.
  void branches() {
    constexpr std::array<const char*, 4> kOps{"Relu", "Tanh", "HardSwish", "Neg"};
    const std::size_t i = pick();
    const List shape = values_[i].shape;
    std::vector<std::string> inputs;
    for (std::size_t branch = 0; branch < 2 + choose(2); ++branch) {
      add(kOps[choose(kOps.size())], {read(i)}, shape);
      inputs.push_back(read(values_.size() - 1));
    }
    if (choose(3) == 1) inputs.push_back(read(i));
    const std::size_t axis = choose(shape.size());
    List out = shape;
    if (element_count(out) > kMostJoined) return;
    out[axis] *= static_cast<std::int64_t>(inputs.size());
    add("Concat", inputs, out, attribute("axis", static_cast<std::int64_t>(axis)));
  }

  /// Two parts, one of which is computed with and put back beside the other.
  void halves() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    const std::size_t axis = choose(in.size());
    if (in[axis] < 2) return;
    List first = in, second = in;
    first[axis] = in[axis] / 2;
    second[axis] = in[axis] - first[axis];
    const std::string a = "v" + std::to_string(values_.size()), b = "v" + std::to_string(values_.size() + 1);
    b_.node("Split", {read(i), whole({first[axis], second[axis]})}, {a, b},
            attribute("axis", static_cast<std::int64_t>(axis)));
    values_.push_back({a, first, 1});
    values_.push_back({b, second, 1});
    add("Tanh", {b}, second);
    const std::string changed = read(values_.size() - 1);
    List out = in;
    std::vector<std::string> inputs{a, changed};
    if (choose(2) == 1) {
      inputs = {changed, a, b};
      out[axis] += second[axis];
    }
    add("Concat", inputs, out, attribute("axis", static_cast<std::int64_t>(axis)));
  }

  void transpose() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    List order;
    for (std::size_t axis = 0; axis < in.size(); ++axis) order.push_back(static_cast<std::int64_t>(axis));
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    List out;
    for (const std::int64_t axis : order) out.push_back(in[static_cast<std::size_t>(axis)]);
    add("Transpose", {read(i)}, out, attribute("perm", order));
  }

  void product() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    const std::int64_t columns = static_cast<std::int64_t>(1 + choose(5));
    List out = in;
    out.back() = columns;
    if (choose(2) == 1) {
      std::int64_t rows = 1;
      for (std::size_t axis = 0; axis + 1 < in.size(); ++axis) rows *= in[axis];
      add("Flatten", {read(i)}, {rows, in.back()}, attribute("axis", static_cast<std::int64_t>(in.size() - 1)));
      const std::size_t flat = values_.size() - 1;
      return add("Gemm", {read(flat), constant({columns, in.back()}), constant({columns})}, {rows, columns},
                 attribute("transB", 1), attribute("alpha", 0.5f));
    }
    add("MatMul", {read(i), constant({in.back(), columns})}, out);
  }

  /// x·xᵀ of the last two axes: both sides are computed.
  void attend() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    const std::size_t rank = in.size();
    List order, turned = in, out = in;
    for (std::size_t axis = 0; axis < rank; ++axis) order.push_back(static_cast<std::int64_t>(axis));
    std::swap(order[rank - 1], order[rank - 2]);
    std::swap(turned[rank - 1], turned[rank - 2]);
    out[rank - 1] = in[rank - 2];
    add("Transpose", {read(i)}, turned, attribute("perm", order));
    const std::size_t other = values_.size() - 1;
    add("MatMul", {read(i), read(other)}, out);
  }

  void normalise() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    std::vector<std::string> inputs{read(i), constant({in.back()})};
    if (choose(2) == 1) inputs.push_back(constant({in.back()}));
    add("LayerNormalization", inputs, in, attribute("axis", -1), attribute("epsilon", 0.1f));
  }

  void pad() {
    const std::size_t i = pick();
    List out = values_[i].shape, pads(2 * out.size(), 0);
    const std::size_t axis = choose(out.size());
    pads[axis] = 1;
    pads[out.size() + axis] = static_cast<std::int64_t>(choose(2));
    out[axis] += pads[axis] + pads[out.size() + axis];
    if (choose(2) == 1) return add("Pad", {read(i), whole(pads), number(0.75f)}, out);
    add("Pad", {read(i), whole(pads)}, out, attribute("mode", std::string("edge")));
  }

  void slice() {
    const std::size_t i = pick();
    List out = values_[i].shape;
    const std::size_t axis = choose(out.size());
    if (out[axis] < 3) return;
    const std::int64_t step = choose(2) == 1 ? 2 : 1;
    const std::string v = read(i);
    out[axis] = (out[axis] - 1 + step - 1) / step;
    add("Slice", {v, whole({1}), whole({1000}), whole({static_cast<std::int64_t>(axis)}), whole({step})}, out);
  }

  /// Two uneven parts of which both are used.
  void split() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    const std::size_t axis = choose(in.size());
    if (in[axis] < 3) return;
    List first = in, second = in;
    first[axis] = 1;
    second[axis] = in[axis] - 1;
    const std::string a = "v" + std::to_string(values_.size()), b = "v" + std::to_string(values_.size() + 1);
    b_.node("Split", {read(i), whole({1, in[axis] - 1})}, {a, b}, attribute("axis", static_cast<std::int64_t>(axis)));
    values_.push_back({a, first, 0});
    values_.push_back({b, second, 0});
  }

  void gather() {
    const std::size_t i = pick();
    List out = values_[i].shape;
    const std::size_t axis = choose(out.size());
    const std::string v = read(i);
    const std::string rows = whole({out[axis] - 1, 0, -1});
    out[axis] = 3;
    add("Gather", {v, rows}, out, attribute("axis", static_cast<std::int64_t>(axis)));
  }

  void reduce() {
    const std::size_t i = pick();
    const List in = values_[i].shape;
    if (choose(2) == 1)
      return add(choose(4) == 1 ? "LogSoftmax" : "Softmax", {read(i)}, in,
                 attribute("axis", static_cast<std::int64_t>(choose(in.size()))));
    constexpr std::array<const char*, 4> kOps{"ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare"};
    const std::size_t axis = choose(in.size());
    const std::string op = kOps[choose(kOps.size())];
    List out = in;
    out[axis] = 1;
    add(op, {read(i), whole({static_cast<std::int64_t>(axis)})}, out);
  }

  const std::vector<std::uint8_t>& decisions_;
  std::size_t next_ = 0;
  std::mt19937 random_;
  ModelBuilder b_;
  std::vector<Entry> values_;
  int constants_ = 0;
};

}  // namespace

ModelBuilder random_model(const std::vector<std::uint8_t>& decisions) { return Generator(decisions).run(); }

ModelBuilder random_model(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> decisions(40 + random() % 80);
  for (std::uint8_t& decision : decisions) decision = static_cast<std::uint8_t>(random());
  return random_model(decisions);
}

}  // namespace temper::graph::testing
