#include "temper/lower/kernel_interpreter.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "temper/lower/kernel_text.h"
#include "temper/support/error.h"

namespace temper::lower {
namespace {

/// One lane: integers and I1 sign- or zero-extended in `i`, floats in `f` (an F32 exactly).
struct Lane {
  std::int64_t i = 0;
  double f = 0;
};
using Lanes = std::vector<Lane>;

constexpr std::byte kPattern{0xff};  // a NaN in every float

std::int64_t wrap(Scalar s, std::uint64_t bits) {
  switch (s) {
    case Scalar::I1: return static_cast<std::int64_t>(bits & 1u);
    case Scalar::I8: return static_cast<std::int8_t>(bits);
    case Scalar::U8: return static_cast<std::uint8_t>(bits);
    case Scalar::I32: return static_cast<std::int32_t>(bits);
    default: return static_cast<std::int64_t>(bits);
  }
}
double round_to(Scalar s, double value) {
  return s == Scalar::F32 ? static_cast<double>(static_cast<float>(value)) : value;
}

Lane integer(Scalar s, std::int64_t value) { return {wrap(s, static_cast<std::uint64_t>(value)), 0}; }
Lane real(Scalar s, double value) { return {0, round_to(s, value)}; }
Lane boolean(bool value) { return {value ? 1 : 0, 0}; }

std::uint64_t to_bits(Scalar s, const Lane& v) {
  if (s == Scalar::F32) return std::bit_cast<std::uint32_t>(static_cast<float>(v.f));
  if (s == Scalar::F64) return std::bit_cast<std::uint64_t>(v.f);
  return static_cast<std::uint64_t>(v.i);
}
Lane from_bits(Scalar s, std::uint64_t bits) {
  if (s == Scalar::F32) return {0, static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))};
  if (s == Scalar::F64) return {0, std::bit_cast<double>(bits)};
  return integer(s, static_cast<std::int64_t>(bits));
}

double minimum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : a < b ? a : b;
}
double maximum(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : a > b ? a : b;
}
double sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }

/// Basic operations are computed in the type itself: double rounding would differ.
template <class T>
double float_operation(Op op, T a, T b, T c) {
  switch (op) {
    case Op::Add: return static_cast<double>(a + b);
    case Op::Sub: return static_cast<double>(a - b);
    case Op::Mul: return static_cast<double>(a * b);
    case Op::Div: return static_cast<double>(a / b);
    case Op::Fma: return static_cast<double>(std::fma(a, b, c));
    case Op::Sqrt: return static_cast<double>(std::sqrt(a));
    case Op::Min: return minimum(static_cast<double>(a), static_cast<double>(b));
    case Op::Max: return maximum(static_cast<double>(a), static_cast<double>(b));
    case Op::Neg: return static_cast<double>(-a);
    case Op::Abs: return static_cast<double>(std::fabs(a));
    case Op::Floor: return static_cast<double>(std::floor(a));
    case Op::Ceil: return static_cast<double>(std::ceil(a));
    case Op::Round: return static_cast<double>(std::nearbyint(a));
    case Op::Ldexp:
      return static_cast<double>(std::scalbn(a, static_cast<int>(std::fmax(std::fmin(b, T{5000}), T{-5000}))));
    default: break;
  }
  const auto x = static_cast<double>(a);
  switch (op) {
    case Op::Exp:
    case Op::ExpNonPositive: return std::exp(x);
    case Op::Log: return std::log(x);
    case Op::Tanh: return std::tanh(x);
    case Op::Erf: return std::erf(x);
    case Op::Sigmoid: return 1.0 / (1.0 + std::exp(-x));
    case Op::Sin: return std::sin(x);
    case Op::Cos: return std::cos(x);
    case Op::Pow: return std::pow(x, static_cast<double>(b));
    case Op::Rsqrt: return 1.0 / std::sqrt(x);
    case Op::Sign: return sign(x);
    default: TEMPER_CHECK(false, "not an operation on floats: " + std::string(to_string(op)));
  }
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// On values already extended to 64 bits; the caller wraps the result. Division never traps (see kernel.h).
std::int64_t integer_operation(Op op, std::int64_t a, std::int64_t b, int bits) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  switch (op) {
    case Op::Add: return static_cast<std::int64_t>(x + y);
    case Op::Sub: return static_cast<std::int64_t>(x - y);
    case Op::Mul: return static_cast<std::int64_t>(x * y);
    case Op::Div: return b == 0 ? a : b == -1 ? static_cast<std::int64_t>(0 - x) : a / b;
    case Op::FloorDiv: return floor_div(a, b);
    case Op::Mod: return a % b + (a % b < 0 ? b : 0);
    case Op::Min: return std::min(a, b);
    case Op::Max: return std::max(a, b);
    case Op::Neg: return static_cast<std::int64_t>(0 - x);
    case Op::Abs: return a < 0 ? static_cast<std::int64_t>(0 - x) : a;
    case Op::Not: return static_cast<std::int64_t>(~x);
    case Op::And: return static_cast<std::int64_t>(x & y);
    case Op::Or: return static_cast<std::int64_t>(x | y);
    case Op::Xor: return static_cast<std::int64_t>(x ^ y);
    case Op::Shl: return static_cast<std::int64_t>(x << (y & 63));
    case Op::LShr: return static_cast<std::int64_t>((x & all) >> (y & 63));
    default: TEMPER_CHECK(false, "not an operation on integers: " + std::string(to_string(op)));
  }
}

template <class T>
bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::Lt: return a < b;
    case Op::Le: return a <= b;
    case Op::Gt: return a > b;
    case Op::Ge: return a >= b;
    case Op::Eq: return a == b;
    case Op::Ne: return a != b;
    default: TEMPER_CHECK(false, "not a comparison");
  }
}

Lane convert(Scalar from, Scalar to, const Lane& v) {
  if (to == Scalar::I1) return boolean(is_float(from) ? v.f != 0 : v.i != 0);
  if (is_float(to)) {
    if (is_float(from)) return real(to, v.f);
    return to == Scalar::F32 ? Lane{0, static_cast<double>(static_cast<float>(v.i))}
                             : Lane{0, static_cast<double>(v.i)};
  }
  return integer(to, is_float(from) ? static_cast<std::int64_t>(v.f) : v.i);
}

class Interpreter {
 public:
  Interpreter(const Kernel& kernel, const ArgumentMemory& arguments)
      : kernel_(kernel), arguments_(arguments), values_(kernel.types.size()) {
    TEMPER_CHECK(arguments.size() == kernel.arguments.size(), "one memory for each argument");
  }

  void phase(const Phase& p) {
    for (std::int64_t iteration = 0; iteration < p.extent; ++iteration) {
      scratch_.assign(static_cast<std::size_t>(p.scratch_bytes), kPattern);
      stack_.assign(kernel_.buffers.size(), {});
      set(p.index, {integer(Scalar::I64, iteration)});
      block(p.body);
    }
  }

 private:
  const Type& type(Value v) const { return kernel_.types[static_cast<std::size_t>(v)]; }
  const Lanes& get(Value v) const { return values_[static_cast<std::size_t>(v)]; }
  std::int64_t scalar(Value v) const { return get(v)[0].i; }
  void set(Value v, Lanes lanes) { values_[static_cast<std::size_t>(v)] = std::move(lanes); }

  void block(const Block& b) {
    for (const Instr& i : b) {
      switch (i.op) {
        case Op::For: for_loop(i); break;
        case Op::If: if_else(i); break;
        case Op::Store:
        case Op::Scatter: write(i); break;
        case Op::Prefetch: break;
        case Op::Load:
        case Op::Gather: set(i.result, read(i)); break;
        default: set(i.result, evaluate(i)); break;
      }
    }
  }

  /// All are read before any is written: a swap of carried values is one.
  void move(const std::vector<Value>& from, const std::vector<Value>& to) {
    std::vector<Lanes> copies;
    for (const Value v : from) copies.push_back(get(v));
    for (std::size_t k = 0; k < to.size(); ++k) set(to[k], std::move(copies[k]));
  }

  void for_loop(const Instr& i) {
    const Control& c = *i.control;
    const std::int64_t end = scalar(i.args[1]);
    move(c.initial, c.params);
    for (std::int64_t n = scalar(i.args[0]); n < end; n += i.imm) {
      set(c.induction, {integer(Scalar::I64, n)});
      block(c.body);
      move(c.yields, c.params);
    }
    move(c.params, c.results);
  }

  void if_else(const Instr& i) {
    const Control& c = *i.control;
    const bool taken = scalar(i.args[0]) != 0;
    block(taken ? c.body : c.else_body);
    move(taken ? c.yields : c.else_yields, c.results);
  }

  Lanes evaluate(const Instr& i) const {
    const Type& t = type(i.result);
    const auto count = static_cast<std::size_t>(t.lanes);
    Lanes result(count);
    for (std::size_t lane = 0; lane < count; ++lane) result[lane] = evaluate_lane(i, t, lane);
    return result;
  }

  Lane evaluate_lane(const Instr& i, const Type& t, std::size_t lane) const {
    switch (i.op) {
      case Op::ConstInt: return integer(t.scalar, i.imm);
      case Op::ConstFloat: return real(t.scalar, i.fimm);
      case Op::ConstMask: return boolean((static_cast<std::uint64_t>(i.imm) >> lane & 1u) != 0);
      case Op::Iota: return integer(t.scalar, static_cast<std::int64_t>(lane));
      case Op::Undef: return undefined(t.scalar);
      case Op::Broadcast: return get(i.args[0])[0];
      case Op::Extract: return get(i.args[0])[static_cast<std::size_t>(i.imm)];
      case Op::Insert: return lane == static_cast<std::size_t>(i.imm) ? get(i.args[1])[0] : get(i.args[0])[lane];
      case Op::Select: {
        const Lanes& condition = get(i.args[0]);
        return get(i.args[condition[condition.size() == 1 ? 0 : lane].i != 0 ? 1 : 2])[lane];
      }
      case Op::Shuffle: {
        const int from = i.mask[lane];
        if (from < 0) return undefined(t.scalar);
        const auto first = get(i.args[0]).size();
        const auto pick = static_cast<std::size_t>(from);
        return pick < first ? get(i.args[0])[pick] : get(i.args[1])[pick - first];
      }
      default: break;
    }
    const Scalar s = type(i.args[0]).scalar;
    const Lane a = get(i.args[0])[lane];
    const Lane b = i.args.size() > 1 ? get(i.args[1])[lane] : Lane{};
    const Lane c = i.args.size() > 2 ? get(i.args[2])[lane] : Lane{};
    if (i.op == Op::Cast) return convert(s, t.scalar, a);
    if (i.op == Op::Bitcast) return from_bits(t.scalar, to_bits(s, a));
    if (i.op >= Op::Lt && i.op <= Op::Ne)
      return boolean(is_float(s) ? compare(i.op, a.f, b.f) : compare(i.op, a.i, b.i));
    if (s == Scalar::F32)
      return real(s, float_operation(i.op, static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(c.f)));
    if (s == Scalar::F64) return real(s, float_operation(i.op, a.f, b.f, c.f));
    return integer(s, integer_operation(i.op, a.i, b.i, 8 * bytes(s)));
  }

  static Lane undefined(Scalar s) { return from_bits(s, ~std::uint64_t{0}); }

  std::byte* element(const Instr& i, std::int64_t offset) {
    const Buffer& b = kernel_.buffers[static_cast<std::size_t>(i.imm)];
    if (offset < 0 || offset >= b.elements) {
      throw Error(ErrorCode::Internal,
                  "element " + std::to_string(offset) + " of a buffer of " + std::to_string(b.elements),
                  print(kernel_, i));
    }
    const std::int64_t at = offset * ir::bytes(b.dtype);
    if (b.role == BufferRole::Stack) {
      std::vector<std::byte>& memory = stack_[static_cast<std::size_t>(i.imm)];
      if (memory.empty()) memory.assign(static_cast<std::size_t>(b.elements * ir::bytes(b.dtype)), kPattern);
      return memory.data() + at;
    }
    const std::span<std::byte> memory =
        b.role == BufferRole::Scratch ? std::span(scratch_) : arguments_[static_cast<std::size_t>(b.argument)];
    TEMPER_CHECK(static_cast<std::size_t>(b.offset + at + ir::bytes(b.dtype)) <= memory.size(),
                 "a buffer is larger than its memory");
    return memory.data() + b.offset + at;
  }
  /// Offset of a lane, and whether its mask is set. `mask` is the position of the mask among the operands.
  std::int64_t lane_offset(const Instr& i, std::size_t lane) const {
    const bool indexed = i.op == Op::Gather || i.op == Op::Scatter;
    return indexed ? get(i.args[0])[lane].i : get(i.args[0])[0].i + static_cast<std::int64_t>(lane);
  }
  bool enabled(const Instr& i, std::size_t mask, std::size_t lane) const {
    return i.args.size() <= mask || get(i.args[mask])[lane].i != 0;
  }

  Lanes read(const Instr& i) {
    const Type& t = type(i.result);
    Lanes result(static_cast<std::size_t>(t.lanes));
    for (std::size_t lane = 0; lane < result.size(); ++lane) {
      if (!enabled(i, 1, lane)) continue;
      std::uint64_t bits = 0;
      std::memcpy(&bits, element(i, lane_offset(i, lane)), static_cast<std::size_t>(bytes(t.scalar)));
      result[lane] = from_bits(t.scalar, bits);
    }
    return result;
  }
  void write(const Instr& i) {
    const Type& t = type(i.args[1]);
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(t.lanes); ++lane) {
      if (!enabled(i, 2, lane)) continue;
      const std::uint64_t bits = to_bits(t.scalar, get(i.args[1])[lane]);
      std::memcpy(element(i, lane_offset(i, lane)), &bits, static_cast<std::size_t>(bytes(t.scalar)));
    }
  }

  const Kernel& kernel_;
  const ArgumentMemory& arguments_;
  std::vector<Lanes> values_;
  std::vector<std::byte> scratch_;
  std::vector<std::vector<std::byte>> stack_;
};

}  // namespace

void interpret_prepare(const Kernel& kernel, const ArgumentMemory& arguments) {
  Interpreter interpreter(kernel, arguments);
  for (const Phase& p : kernel.prepare) interpreter.phase(p);
}
void interpret_run(const Kernel& kernel, const ArgumentMemory& arguments) {
  Interpreter interpreter(kernel, arguments);
  for (const Phase& p : kernel.run) interpreter.phase(p);
}

}  // namespace temper::lower
