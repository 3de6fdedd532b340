#include "random_definition.h"

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

namespace temper::fuzz {

namespace {

using ir::Axis;
using ir::DType;
using ir::Expr;
using ir::Tensor;
using Axes = std::span<const Axis>;

class Generator {
 public:
  explicit Generator(RandomStream& random) : random_(random) {}

  Definition generate() {
    static constexpr struct {
      const char* kind;
      int weight;
      Tensor (Generator::*make)();
    } kKinds[] = {
        {"matmul", 5, &Generator::matmul},
        {"conv", 6, &Generator::convolution},
        {"transposed_conv", 2, &Generator::transposed_convolution},
        {"pool", 3, &Generator::pool},
        {"rows", 3, &Generator::rows},
        {"moments", 2, &Generator::moments},
        {"argmax", 1, &Generator::argmax},
        {"elementwise", 3, &Generator::elementwise},
        {"movement", 3, &Generator::movement},
        {"masked", 2, &Generator::masked},
        {"user_reducer", 2, &Generator::user_reducer},
        {"chain", 2, &Generator::chain},
        {"scalar", 1, &Generator::scalar},
    };
    int total = 0;
    for (const auto& kind : kKinds) total += kind.weight;
    int at = static_cast<int>(random_.below(static_cast<std::uint64_t>(total)));
    for (const auto& kind : kKinds) {
      if (at >= kind.weight) {
        at -= kind.weight;
        continue;
      }
      const double dtype = random_.uniform_real();
      dtype_ = dtype < 0.8 ? DType::F32 : dtype < 0.9 ? DType::F64 : DType::I32;
      result_.kind = kind.kind;
      std::vector<Tensor> outputs{(this->*kind.make)()};
      outputs.front() = epilogue(outputs.front());
      if (second_output_) outputs.push_back(*second_output_);
      result_.compute = ir::make_compute(outputs);
      ir::verify(result_.compute);
      return std::move(result_);
    }
    return {};
  }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) { return random_.uniform_int(low, high); }
  /// An extent: tiny, prime, or round.
  std::int64_t extent(std::int64_t limit) {
    static const std::vector<std::int64_t> kSizes{1,  2,  3,  4,  5,  7,  8,  11, 13, 16,
                                                  17, 19, 23, 24, 29, 31, 32, 37, 48, 64};
    std::int64_t size = random_.pick(kSizes);
    while (size > limit) size = random_.pick(kSizes);
    return size;
  }
  Tensor input(std::vector<ir::Extent> shape, double constant_chance = 0.3) {
    const std::string name = "x" + std::to_string(inputs_++);
    const bool narrow = dtype_ == DType::I32 && random_.chance(0.5);
    const DType dtype = narrow ? (random_.chance(0.5) ? DType::I8 : DType::U8) : dtype_;
    return random_.chance(constant_chance) ? ir::constant(name, std::move(shape), dtype)
                                           : ir::placeholder(name, std::move(shape), dtype);
  }
  Expr value(Expr e) { return e.dtype() == dtype_ ? e : ir::cast(std::move(e), dtype_); }
  Expr number_literal(std::int64_t v) { return ir::literal(static_cast<double>(v), dtype_); }
  static std::vector<ir::Extent> shape_of(const std::vector<std::int64_t>& shape) {
    return {shape.begin(), shape.end()};
  }
  std::string fresh(const char* base) { return base + std::to_string(stages_++); }

  /// Sum, largest, smallest or product with an optional initial value.
  ir::Definition reduction(Expr term, std::vector<Axis> axes, const std::function<Expr()>& init = {}) {
    const std::int64_t choice = number(0, 9);
    ir::Definition d;
    if (choice < 7) {
      d = ir::sum(std::move(term), std::move(axes));
    } else {
      d = choice == 7 ? ir::max_over(std::move(term), std::move(axes)) : ir::min_over(std::move(term), std::move(axes));
    }
    if (init && random_.chance(0.25)) d = std::move(d).init(init());
    return d;
  }

  Tensor matmul() {
    const std::int64_t m = extent(32), n = extent(64), k = extent(37), batch = random_.chance(0.25) ? number(2, 3) : 0;
    const bool ta = random_.chance(0.25), tb = random_.chance(0.3);
    std::vector<ir::Extent> a = ta ? std::vector<ir::Extent>{k, m} : std::vector<ir::Extent>{m, k};
    std::vector<ir::Extent> b = tb ? std::vector<ir::Extent>{n, k} : std::vector<ir::Extent>{k, n};
    std::vector<ir::Extent> c{m, n};
    if (batch > 0) {
      a.insert(a.begin(), batch);
      c.insert(c.begin(), batch);
    }
    const bool batched_b = batch > 0 && random_.chance(0.6);
    if (batched_b) b.insert(b.begin(), batch);
    const Tensor x = input(a, 0.1), y = input(b, 0.6);
    const Axis r = ir::reduce("k", k);
    return ir::compute(
        "C", c,
        [&](Axes i) {
          const std::size_t at = batch > 0 ? 1 : 0;
          std::vector<Expr> ia = ta ? std::vector<Expr>{r, i[at]} : std::vector<Expr>{i[at], r};
          std::vector<Expr> ib = tb ? std::vector<Expr>{i[at + 1], r} : std::vector<Expr>{r, i[at + 1]};
          if (batch > 0) ia.insert(ia.begin(), i[0]);
          if (batched_b) ib.insert(ib.begin(), i[0]);
          return reduction(value(x.at(ia)) * value(y.at(ib)), {r}, [&] { return number_literal(3); });
        },
        batch > 0 ? std::vector<std::string>{"b", "m", "n"} : std::vector<std::string>{"m", "n"});
  }

  /// A window along one axis: extents and how it moves.
  struct Window {
    std::int64_t size, kernel, stride, dilation, before, after;
    std::int64_t out() const { return (size + before + after - dilation * (kernel - 1) - 1) / stride + 1; }
  };
  Window window(std::int64_t limit) {
    while (true) {
      Window w{extent(limit), number(1, 4), random_.chance(0.6) ? 1 : number(2, 3), random_.chance(0.8) ? 1 : 2, 0, 0};
      if (random_.chance(0.7)) {
        w.before = number(0, 2);
        w.after = random_.chance(0.7) ? w.before : number(0, 2);
      }
      if (w.size + w.before + w.after >= w.dilation * (w.kernel - 1) + 1) return w;
    }
  }
  /// Conditions that keep `at` inside the window's axis, where padding makes them needed.
  static ir::Definition inside(ir::Definition d, const Expr& at, const Window& w) {
    return w.before + w.after > 0 ? std::move(d).where(ir::in_range(at, w.size)) : std::move(d);
  }

  Tensor convolution() {
    const bool nhwc = random_.chance(0.5), flat = random_.chance(0.2);
    const std::int64_t groups_choice = number(0, 3);
    std::int64_t oc = extent(24), ic = extent(13), groups = 1;
    if (groups_choice == 2) {
      groups = number(2, 3);
      oc = groups * number(1, 6);
      ic = groups * number(1, 4);
    } else if (groups_choice == 3) {
      groups = ic = oc = extent(24);
    }
    const std::int64_t batch = random_.chance(0.2) ? 2 : 1, ig = ic / groups, og = oc / groups;
    const Window wy = flat ? Window{1, 1, 1, 1, 0, 0} : window(11), wx = window(17);
    const std::vector<ir::Extent> in = nhwc ? std::vector<ir::Extent>{batch, wy.size, wx.size, ic}
                                            : std::vector<ir::Extent>{batch, ic, wy.size, wx.size};
    const std::vector<ir::Extent> out = nhwc ? std::vector<ir::Extent>{batch, wy.out(), wx.out(), oc}
                                             : std::vector<ir::Extent>{batch, oc, wy.out(), wx.out()};
    const Tensor x = input(in, 0.1), w = input({oc, ig, wy.kernel, wx.kernel}, 0.7);
    const Axis ri = ir::reduce("ic", ig), ry = ir::reduce("kh", wy.kernel), rx = ir::reduce("kw", wx.kernel);
    return ir::compute(
        "conv", out,
        [&](Axes i) {
          const Axis n = i[0], c = nhwc ? i[3] : i[1], y = nhwc ? i[1] : i[2], xx = nhwc ? i[2] : i[3];
          const Expr iy = y * wy.stride + ry * wy.dilation - wy.before,
                     ix = xx * wx.stride + rx * wx.dilation - wx.before;
          const Expr channel = groups == 1 ? Expr(ri) : ig == 1 && og == 1 ? Expr(c) : ir::floor_div(c, og) * ig + ri;
          const Expr element = nhwc ? x(n, iy, ix, channel) : x(n, channel, iy, ix);
          std::vector<Axis> axes{ri, ry, rx};
          if (ig == 1 && groups > 1 && og == 1) axes = {ry, rx};
          if (random_.chance(0.3)) std::reverse(axes.begin(), axes.end());
          const Expr weight = axes.size() == 2 ? w(c, 0, ry, rx) : w(c, ri, ry, rx);
          ir::Definition d = ir::sum(value(element) * value(weight), axes);
          if (random_.chance(0.15)) d = std::move(d).init(number_literal(2));
          return inside(inside(std::move(d), iy, wy), ix, wx);
        },
        nhwc ? std::vector<std::string>{"n", "y", "x", "oc"} : std::vector<std::string>{"n", "oc", "y", "x"});
  }

  Tensor transposed_convolution() {
    const std::int64_t ic = extent(8), oc = extent(16), size = extent(11), kernel = number(1, 4), stride = number(2, 3),
                       pad = number(0, kernel - 1);
    const std::int64_t out = std::max<std::int64_t>(1, (size - 1) * stride + kernel - 2 * pad);
    const bool last = random_.chance(0.5);
    const Tensor x = input(last ? std::vector<ir::Extent>{size, ic} : std::vector<ir::Extent>{ic, size}, 0.1),
                 w = input({ic, oc, kernel}, 0.7);
    const Axis ri = ir::reduce("ic", ic), rk = ir::reduce("kx", kernel);
    return ir::compute(
        "deconv", last ? std::vector<ir::Extent>{out, oc} : std::vector<ir::Extent>{oc, out},
        [&](Axes i) {
          const Axis c = last ? i[1] : i[0], xx = last ? i[0] : i[1];
          const Expr moved = xx + pad - rk, at = ir::floor_div(moved, stride);
          const Expr element = last ? x(at, ri) : x(ri, at);
          return ir::sum(value(element) * value(w(ri, c, rk)), {ri, rk})
              .where(ir::mod(moved, stride) == 0)
              .where(ir::in_range(at, size));
        },
        last ? std::vector<std::string>{"x", "oc"} : std::vector<std::string>{"oc", "x"});
  }

  Tensor pool() {
    const bool nhwc = random_.chance(0.5);
    const std::int64_t c = extent(24);
    const Window wy = window(11), wx = window(13);
    const Tensor x =
        input(nhwc ? std::vector<ir::Extent>{wy.size, wx.size, c} : std::vector<ir::Extent>{c, wy.size, wx.size});
    const Axis ry = ir::reduce("kh", wy.kernel), rx = ir::reduce("kw", wx.kernel);
    return ir::compute(
        "pool", nhwc ? std::vector<ir::Extent>{wy.out(), wx.out(), c} : std::vector<ir::Extent>{c, wy.out(), wx.out()},
        [&](Axes i) {
          const Axis ch = nhwc ? i[2] : i[0], y = nhwc ? i[0] : i[1], xx = nhwc ? i[1] : i[2];
          const Expr iy = y * wy.stride + ry * wy.dilation - wy.before,
                     ix = xx * wx.stride + rx * wx.dilation - wx.before;
          const Expr element = value(nhwc ? x(iy, ix, ch) : x(ch, iy, ix));
          ir::Definition d = random_.chance(0.6) ? ir::max_over(element, {ry, rx}) : ir::sum(element, {ry, rx});
          return inside(inside(std::move(d), iy, wy), ix, wx);
        },
        nhwc ? std::vector<std::string>{"y", "x", "c"} : std::vector<std::string>{"c", "y", "x"});
  }

  /// Softmax without the exponential: three stages over each row.
  Tensor rows() {
    const std::int64_t m = extent(24), n = extent(64);
    const Tensor x = input({m, n}, 0);
    const Axis a = ir::reduce("ja", n), b = ir::reduce("jb", n);
    const Tensor top = ir::define("top", {m}, [&](Axis i) { return ir::max_over(value(x(i, a)), {a}); }, {"i"});
    const Tensor e = ir::define("e", {m, n},
                                [&](Axis i, Axis j) {
                                  const Expr t = value(x(i, j)) - top(i);
                                  return t * t;
                                },
                                {"i", "j"});
    const Tensor total = ir::define("total", {m}, [&](Axis i) { return ir::sum(e(i, b), {b}); }, {"i"});
    if (!ir::is_float(dtype_)) {
      return ir::define("out", {m, n}, [&](Axis i, Axis j) { return e(i, j) - total(i); }, {"i", "j"});
    }
    result_.exact = false;
    return ir::define("out", {m, n}, [&](Axis i, Axis j) { return e(i, j) / (total(i) + number_literal(1)); },
                      {"i", "j"});
  }

  /// Both moments of each row at once, then a stage that uses them.
  Tensor moments() {
    const std::int64_t m = extent(24), n = extent(64);
    const Tensor x = input({m, n}, 0);
    const Axis r = ir::reduce("j", n);
    const bool filtered = random_.chance(0.3);
    const Tensor s = ir::define("s", {m},
                                [&](Axis i) {
                                  const Expr t = value(x(i, r));
                                  ir::Definition d = ir::reduction(ir::tuple_sum_reducer(dtype_, 2), {t, t * t}, {r});
                                  return filtered ? std::move(d).where(i <= r) : std::move(d);
                                },
                                {"i"});
    if (random_.chance(0.2)) return s;
    return ir::define(
        "out", {m, n},
        [&](Axis i, Axis j) { return (value(x(i, j)) - ir::component(s, 0)(i)) * ir::component(s, 1)(i); }, {"i", "j"});
  }

  Tensor argmax() {
    const std::int64_t m = extent(17), n = extent(37);
    const bool columns = random_.chance(0.4);
    const Tensor x = input(columns ? std::vector<ir::Extent>{n, m} : std::vector<ir::Extent>{m, n}, 0);
    const Axis r = ir::reduce("j", n);
    const ir::Reducer reducer =
        random_.chance(0.5) ? ir::argmax_reducer(dtype_, DType::I64) : ir::argmin_reducer(dtype_, DType::I64);
    return ir::define("best", {m},
                      [&](Axis i) { return ir::reduction(reducer, {value(columns ? x(r, i) : x(i, r)), r}, {r}); },
                      {"i"});
  }

  /// A pointwise function of two values.
  Expr pointwise(Expr a, Expr b) {
    if (ir::is_float(dtype_) && random_.chance(0.15)) {
      // Arguments small enough for every function; what follows is no longer exact.
      result_.exact = false;
      const Expr small = ir::min(ir::max(a, number_literal(-4)), number_literal(4));
      switch (number(0, 5)) {
        case 0: return ir::exp(small) + b;
        case 1: return ir::tanh(small) - b;
        case 2: return ir::sigmoid(small) * b;
        case 3: return ir::erf(small) + b;
        case 4: return ir::sqrt(ir::abs(small)) + b;
        default: return ir::log(ir::abs(small) + number_literal(1)) - b;
      }
    }
    switch (number(0, result_.exact ? 7 : 4)) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return ir::max(a, b);
      case 4: return ir::min(a, b);
      case 5: return ir::select(a < b, a, b + number_literal(1));
      case 6: return ir::max(a, number_literal(0)) + b;
      default: return ir::abs(a) - b;
    }
  }

  Tensor elementwise() {
    std::vector<std::int64_t> shape;
    const std::int64_t rank = number(1, 4);
    for (std::int64_t d = 0; d < rank; ++d) shape.push_back(extent(rank > 2 ? 8 : rank == 2 ? 31 : 64));
    Tensor t = input(shape_of(shape), 0.1);
    const std::int64_t length = number(1, 4);
    for (std::int64_t s = 0; s < length; ++s) {
      const Tensor other = broadcast_input(shape);
      const Tensor before = t;
      t = ir::compute(fresh("e"), shape_of(shape), [&](Axes i) {
        return ir::Definition(pointwise(value(before.at({i.begin(), i.end()})), broadcast(other, i)));
      });
    }
    return t;
  }
  /// An input that lacks leading axes or has extents of 1.
  Tensor broadcast_input(const std::vector<std::int64_t>& shape) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    std::vector<ir::Extent> own;
    for (std::int64_t d = number(0, rank); d < rank; ++d)
      own.emplace_back(random_.chance(0.3) ? 1 : shape[static_cast<std::size_t>(d)]);
    return input(own);
  }
  Expr broadcast(const Tensor& other, Axes i) {
    std::vector<Expr> at;
    const std::size_t rank = other.shape().size();
    for (std::size_t d = 0; d < rank; ++d) {
      const Axis axis = i[i.size() - rank + d];
      at.push_back(other.shape()[d] == 1 ? Expr(0) : Expr(axis));
    }
    return value(other.at(at));
  }

  /// Transposes, reshapes, slices, pads, concatenations, gathers.
  Tensor movement() {
    switch (number(0, 5)) {
      case 0: {
        const std::int64_t a = extent(17), b = extent(11), c = extent(16);
        const Tensor x = input({a, b, c}, 0.1);
        std::vector<std::size_t> order{0, 1, 2};
        random_.shuffle(order);
        const std::vector<std::int64_t> in{a, b, c};
        return ir::compute("t", {in[order[0]], in[order[1]], in[order[2]]}, [&](Axes i) {
          std::vector<Expr> at(3);
          for (std::size_t d = 0; d < 3; ++d) at[order[d]] = i[d];
          return ir::Definition(value(x.at(at)));
        });
      }
      case 1: {
        const std::int64_t a = extent(17), b = extent(16), c = extent(5);
        const Tensor x = input({a * c, b}, 0.1);
        return ir::define("reshaped", {a, c * b},
                          [&](Axis i, Axis j) { return value(x(i * c + ir::floor_div(j, b), ir::mod(j, b))); });
      }
      case 2: {
        const std::int64_t n = extent(32), before = number(0, 3), after = number(0, 3), c = extent(8);
        const Tensor x = input({c, n}, 0.1);
        return ir::define("padded", {c, n + before + after}, [&](Axis i, Axis j) {
          return ir::select(ir::in_range(j - before, n), value(x(i, j - before)), number_literal(7));
        });
      }
      case 3: {
        const std::int64_t a = extent(19), b = extent(13), c = extent(8);
        const Tensor x = input({a, c}, 0.1), y = input({b, c}, 0.1);
        return ir::define("joined", {a + b, c},
                          [&](Axis i, Axis j) { return ir::select(i < a, value(x(i, j)), value(y(i - a, j))); });
      }
      case 4: {
        const std::int64_t n = extent(31), c = extent(16), start = number(0, 3), step = number(1, 3);
        const Tensor x = input({start + (n - 1) * step + 1, c}, 0.1);
        return ir::define("sliced", {c, n}, [&](Axis i, Axis j) { return value(x(j * step + start, i)); });
      }
      default: {
        const std::int64_t n = extent(19), m = extent(13), c = extent(16);
        const Tensor x = input({n, c}, 0.1), index = ir::placeholder("index", {m}, DType::I64);
        return ir::define("gathered", {m, c},
                          [&](Axis i, Axis j) { return value(x(ir::min(ir::max(index(i), 0), n - 1), j)); });
      }
    }
  }

  /// Products under causal and band conditions.
  Tensor masked() {
    const std::int64_t m = extent(23), k = extent(29), n = extent(16), band = number(0, 6);
    const Tensor x = input({m, k}, 0.1), y = input({k, n}, 0.4);
    const Axis r = ir::reduce("k", k);
    const std::int64_t choice = number(0, 3);
    return ir::define("masked", {m, n},
                      [&](Axis i, Axis j) {
                        ir::Definition d =
                            reduction(value(x(i, r)) * value(y(r, j)), {r}, [&] { return number_literal(1); });
                        switch (choice) {
                          case 0: return std::move(d).where(r <= i);
                          case 1: return std::move(d).where(i - band <= r && r <= i + band);
                          case 2: return std::move(d).where(r < i || Expr(r) == Expr(j));
                          default: return std::move(d).where(ir::mod(i + r, 2) == 0);
                        }
                      },
                      {"i", "j"});
  }

  Tensor user_reducer() {
    const std::int64_t m = extent(17), n = extent(24), k = extent(23);
    const Tensor x = input({m, k}, 0.1), y = input({k, n}, 0.4);
    const Axis r = ir::reduce("k", k);
    const Expr old = ir::param(0, dtype_), now = ir::param(1, dtype_);
    ir::Reducer reducer;
    reducer.identity = {number_literal(0)};
    switch (number(0, 2)) {
      case 0:  // the first term that is not zero
        reducer.name = "first";
        reducer.combine = {ir::select(old == number_literal(0), now, old)};
        reducer.commutative = false;
        reducer.idempotent = true;
        break;
      case 1:  // the largest absolute value
        reducer.name = "span";
        reducer.combine = {ir::max(ir::abs(old), ir::abs(now))};
        break;
      default:  // keeps every other digit of what was there: neither associative nor commutative
        reducer.name = "folded";
        reducer.combine = {now - old};
        reducer.associative = reducer.commutative = false;
        break;
    }
    const bool plus = random_.chance(0.5);
    return ir::define("user", {m, n},
                      [&](Axis i, Axis j) {
                        const Expr a = value(x(i, r)), b = value(y(r, j));
                        return ir::reduction(reducer, {plus ? a + b : a * b}, {r});
                      },
                      {"i", "j"});
  }

  /// Two products in a row, with something between them.
  Tensor chain() {
    const std::int64_t m = extent(17), n = extent(19), k = extent(16), o = extent(13);
    const Tensor x = input({m, k}, 0.1), y = input({k, n}, 0.6), z = input({n, o}, 0.6);
    const Axis a = ir::reduce("ka", k), b = ir::reduce("kb", n);
    const Tensor first = ir::define(
        "first", {m, n}, [&](Axis i, Axis j) { return ir::sum(value(x(i, a)) * value(y(a, j)), {a}); }, {"i", "j"});
    const Tensor between = ir::define(
        "between", {m, n}, [&](Axis i, Axis j) { return ir::max(first(i, j), number_literal(0)); }, {"i", "j"});
    if (random_.chance(0.2)) second_output_ = between;
    return ir::define("last", {m, o}, [&](Axis i, Axis j) { return ir::sum(between(i, b) * value(z(b, j)), {b}); },
                      {"i", "j"});
  }

  Tensor scalar() {
    const std::int64_t n = extent(64);
    const Tensor x = input({n}, 0);
    const Axis r = ir::reduce("r", n);
    return ir::define("all", {}, [&] { return reduction(value(x(r)), {r}, [&] { return number_literal(5); }); });
  }

  /// Zero to two pointwise stages after the main one, among them a residual.
  Tensor epilogue(Tensor t) {
    if (t.stage()->dtypes.size() > 1) return t;
    std::vector<std::int64_t> shape = t.shape();
    for (std::int64_t count = random_.chance(0.5) ? number(1, 2) : 0; count > 0; --count) {
      const bool bias = random_.chance(0.7);
      const Tensor other = bias ? broadcast_input(shape) : t;
      const Tensor before = t;
      t = ir::compute(fresh("post"), shape_of(shape), [&](Axes i) {
        const Expr own = before.at({i.begin(), i.end()});
        return ir::Definition(pointwise(own, bias ? broadcast(other, i) : number_literal(2)));
      });
    }
    return t;
  }

  RandomStream& random_;
  Definition result_;
  DType dtype_ = DType::F32;
  int inputs_ = 0, stages_ = 0;
  std::optional<Tensor> second_output_;
};

}  // namespace

namespace {

/// Some inputs and outputs lie among others: their rows, or their elements, have gaps between them.
void add_gaps(Definition& definition, RandomStream random) {
  if (!random.chance(0.3)) return;
  std::map<std::string, std::vector<std::int64_t>> strides;
  for (const ir::StagePtr& stage : definition.compute.stages) {
    const auto& outputs = definition.compute.outputs;
    const bool is_output = std::find(outputs.begin(), outputs.end(), stage) != outputs.end();
    if ((stage->kind != ir::StageKind::Placeholder && !is_output) || stage->axes.empty() || !random.chance(0.6))
      continue;
    const std::vector<std::int64_t> shape = stage->shape();
    std::vector<std::int64_t> steps(shape.size());
    std::int64_t inner = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
      const double likely = i + 1 == shape.size() ? 0.15 : 0.6;
      steps[i] = inner + (random.chance(likely) ? random.uniform_int(1, 5) : 0);
      inner += (shape[i] - 1) * steps[i];
    }
    strides[stage->name] = steps;
  }
  definition.compute = ir::with_strides(definition.compute, strides);
}

}  // namespace

Definition random_definition(RandomStream& random) {
  Definition definition = Generator(random).generate();
  add_gaps(definition, random.fork("gaps"));
  return definition;
}

}  // namespace temper::fuzz
