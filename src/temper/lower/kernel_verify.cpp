#include <array>
#include <string>
#include <unordered_set>
#include <vector>

#include "temper/lower/kernel.h"
#include "temper/lower/kernel_text.h"
#include "temper/support/error.h"

namespace temper::lower {
namespace {

/// Kinds of scalars that an operation accepts.
enum class Kinds : std::uint8_t { Any, Number /* not I1 */, Integer, Float, Bits /* integers and I1 */ };

/// Operations whose operands all have one type; `boolean`: the result is I1.
struct Uniform {
  Op op;
  std::size_t arity;
  Kinds kinds;
  bool boolean;
};
constexpr Uniform kUniform[] = {
    {Op::Add, 2, Kinds::Number, false},
    {Op::Sub, 2, Kinds::Number, false},
    {Op::Mul, 2, Kinds::Number, false},
    {Op::Div, 2, Kinds::Number, false},
    {Op::FloorDiv, 2, Kinds::Integer, false},
    {Op::Mod, 2, Kinds::Integer, false},
    {Op::Min, 2, Kinds::Number, false},
    {Op::Max, 2, Kinds::Number, false},
    {Op::Fma, 3, Kinds::Float, false},
    {Op::Neg, 1, Kinds::Number, false},
    {Op::Abs, 1, Kinds::Number, false},
    {Op::Not, 1, Kinds::Bits, false},
    {Op::And, 2, Kinds::Bits, false},
    {Op::Or, 2, Kinds::Bits, false},
    {Op::Xor, 2, Kinds::Bits, false},
    {Op::Lt, 2, Kinds::Number, true},
    {Op::Le, 2, Kinds::Number, true},
    {Op::Gt, 2, Kinds::Number, true},
    {Op::Ge, 2, Kinds::Number, true},
    {Op::Eq, 2, Kinds::Any, true},
    {Op::Ne, 2, Kinds::Any, true},
    {Op::Sqrt, 1, Kinds::Float, false},
    {Op::Floor, 1, Kinds::Float, false},
    {Op::Ceil, 1, Kinds::Float, false},
    {Op::Round, 1, Kinds::Float, false},
    {Op::Exp, 1, Kinds::Float, false},
    {Op::ExpNonPositive, 1, Kinds::Float, false},
    {Op::Log, 1, Kinds::Float, false},
    {Op::Tanh, 1, Kinds::Float, false},
    {Op::Erf, 1, Kinds::Float, false},
    {Op::Sigmoid, 1, Kinds::Float, false},
    {Op::Sin, 1, Kinds::Float, false},
    {Op::Cos, 1, Kinds::Float, false},
    {Op::Pow, 2, Kinds::Float, false},
    {Op::Rsqrt, 1, Kinds::Float, false},
    {Op::Sign, 1, Kinds::Float, false},
    {Op::Shl, 2, Kinds::Integer, false},
    {Op::LShr, 2, Kinds::Integer, false},
    {Op::Ldexp, 2, Kinds::Float, false},
};

bool accepts(Kinds kinds, Scalar s) {
  switch (kinds) {
    case Kinds::Any: return true;
    case Kinds::Number: return s != Scalar::I1;
    case Kinds::Integer: return s != Scalar::I1 && !is_float(s);
    case Kinds::Float: return is_float(s);
    case Kinds::Bits: return !is_float(s);
  }
  return false;
}

constexpr Type kIndex{Scalar::I64, 1};

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), state_(kernel.types.size(), State::Undefined), positive_(kernel.types.size(), false) {}

  void run() {
    check_memory();
    for (const Phase& p : kernel_.prepare) phase(p, true);
    for (const Phase& p : kernel_.run) phase(p, false);
  }

 private:
  enum class State : std::uint8_t { Undefined, Visible, OutOfScope };

  [[noreturn]] void fail(const std::string& what, const std::string& where) const {
    throw Error(ErrorCode::Internal, "malformed kernel: " + what, where);
  }
  [[noreturn]] void fail(const std::string& what) const {
    fail(what, where_ + (instr_ == nullptr ? "" : ": " + print(kernel_, *instr_)));
  }
  void require(bool condition, const char* what) const {
    if (!condition) fail(what);
  }

  void check_memory() {
    where_ = "types";
    for (const Type& t : kernel_.types) require(t.lanes >= 1, "a type without lanes");
    for (const Argument& a : kernel_.arguments) {
      where_ = "argument " + a.name;
      require(a.role <= BufferRole::Workspace, "an argument cannot be scratch or stack");
      require(a.bytes >= 0, "negative size");
    }
    for (const Buffer& b : kernel_.buffers) {
      where_ = "buffer " + b.name;
      const bool local = b.role == BufferRole::Scratch || b.role == BufferRole::Stack;
      require(b.elements >= 0 && b.offset >= 0, "negative size or offset");
      require(local == (b.argument < 0), local ? "a local buffer has no argument" : "no argument");
      if (local) continue;
      require(static_cast<std::size_t>(b.argument) < kernel_.arguments.size(), "no such argument");
      const Argument& a = kernel_.arguments[static_cast<std::size_t>(b.argument)];
      require(a.role == b.role, "its role differs from its argument's");
      require(b.offset + b.elements * ir::bytes(b.dtype) <= a.bytes, "does not fit into its argument");
    }
  }

  void phase(const Phase& p, bool prepare) {
    where_ = "phase " + p.name;
    instr_ = nullptr;
    prepare_ = prepare;
    require(p.extent >= 1, "extent below 1");
    for (const Buffer& b : kernel_.buffers) {
      if (!(b.role != BufferRole::Scratch || b.offset + b.elements * ir::bytes(b.dtype) <= p.scratch_bytes ||
            !uses(p.body, &b - kernel_.buffers.data())))
        fail("scratch buffer " + b.name + " does not fit into scratch_bytes");
    }
    std::vector<Value> scope;
    define(p.index, kIndex, scope);
    block(p.body, scope);
    leave(scope);
  }

  static bool uses(const Block& block, std::ptrdiff_t buffer) {
    for (const Instr& i : block) {
      if (i.op >= Op::Load && i.op <= Op::Prefetch && i.imm == buffer) return true;
      if (i.control && (uses(i.control->body, buffer) || uses(i.control->else_body, buffer))) return true;
    }
    return false;
  }

  const Type& type(Value v) const {
    if (v < 0 || static_cast<std::size_t>(v) >= kernel_.types.size())
      fail("value " + std::to_string(v) + " has no type");
    return kernel_.types[static_cast<std::size_t>(v)];
  }
  void define(Value v, std::vector<Value>& scope) {
    (void)type(v);
    State& s = state_[static_cast<std::size_t>(v)];
    if (s != State::Undefined) fail("value %" + std::to_string(v) + " is defined twice");
    s = State::Visible;
    scope.push_back(v);
  }
  void define(Value v, const Type& expected, std::vector<Value>& scope) {
    if (type(v) != expected)
      fail("%" + std::to_string(v) + " must be " + to_string(expected) + ", is " + to_string(type(v)));
    define(v, scope);
  }
  const Type& use(Value v) const {
    const Type& t = type(v);
    const State s = state_[static_cast<std::size_t>(v)];
    if (s == State::Undefined) fail("%" + std::to_string(v) + " is used before it is defined");
    if (s != State::Visible) fail("%" + std::to_string(v) + " is used outside the block that defines it");
    return t;
  }
  void use(Value v, const Type& expected) const {
    if (use(v) != expected)
      fail("%" + std::to_string(v) + " must be " + to_string(expected) + ", is " + to_string(type(v)));
  }
  void leave(const std::vector<Value>& scope) {
    for (const Value v : scope) state_[static_cast<std::size_t>(v)] = State::OutOfScope;
  }

  void block(const Block& b, std::vector<Value>& scope) {
    const Instr* outer = instr_;
    for (const Instr& i : b) {
      instr_ = &i;
      const bool structured = i.op == Op::For || i.op == Op::If;
      require(structured == (i.control != nullptr), structured ? "no control" : "control on a plain instruction");
      if (structured) {
        require(i.result == kNoValue, "a result on the instruction itself");
        require(controls_.insert(i.control.get()).second, "its control belongs to another instruction too");
        i.op == Op::For ? for_loop(i, scope) : if_else(i, scope);
      } else {
        plain(i, scope);
      }
    }
    instr_ = outer;
  }

  void count(const Instr& i, std::size_t low, std::size_t high) const {
    if (i.args.size() < low || i.args.size() > high)
      fail("takes " + std::to_string(low) + (low == high ? "" : " or " + std::to_string(high)) + " operands");
  }
  const Type& result(const Instr& i) const {
    require(i.result != kNoValue, "no result");
    return type(i.result);
  }

  void plain(const Instr& i, std::vector<Value>& scope) {
    for (const Value v : i.args) (void)use(v);
    for (const Uniform& u : kUniform) {
      if (u.op == i.op) {
        uniform(i, u);
        define(i.result, scope);
        return;
      }
    }
    special(i);
    if (i.result != kNoValue) define(i.result, scope);
  }

  void uniform(const Instr& i, const Uniform& u) const {
    count(i, u.arity, u.arity);
    const Type& t = type(i.args[0]);
    for (const Value v : i.args) use(v, t);
    if (!accepts(u.kinds, t.scalar)) fail("not for " + to_string(t));
    const Type expected = u.boolean ? Type{Scalar::I1, t.lanes} : t;
    if (result(i) != expected) fail("its result must be " + to_string(expected));
    if (i.op == Op::FloorDiv || i.op == Op::Mod)
      require(positive_[static_cast<std::size_t>(i.args[1])], "its divisor is not a positive constant");
  }

  void special(const Instr& i) {
    switch (i.op) {
      case Op::ConstInt:
        count(i, 0, 0);
        if (is_float(result(i).scalar)) fail("an integer constant of " + to_string(result(i)));
        require(result(i).scalar != Scalar::I1 || i.imm == 0 || i.imm == 1, "an i1 is 0 or 1");
        positive_[static_cast<std::size_t>(i.result)] = i.imm > 0;
        break;
      case Op::ConstFloat:
        count(i, 0, 0);
        if (!is_float(result(i).scalar)) fail("a float constant of " + to_string(result(i)));
        break;
      case Op::ConstMask:
        count(i, 0, 0);
        require(result(i).scalar == Scalar::I1 && result(i).lanes <= 64, "a mask has at most 64 lanes of i1");
        break;
      case Op::Iota:
        count(i, 0, 0);
        require(result(i).scalar == Scalar::I64, "iota is i64");
        break;
      case Op::Undef:
        count(i, 0, 0);
        (void)result(i);
        break;
      case Op::Select:
        count(i, 3, 3);
        require(type(i.args[0]).scalar == Scalar::I1, "its condition is not i1");
        require(type(i.args[0]).lanes == 1 || type(i.args[0]).lanes == result(i).lanes,
                "its condition has other lanes");
        use(i.args[1], result(i));
        use(i.args[2], result(i));
        break;
      case Op::Cast:
        count(i, 1, 1);
        require(result(i).lanes == type(i.args[0]).lanes, "lanes differ");
        break;
      case Op::Bitcast:
        count(i, 1, 1);
        require(result(i).lanes == type(i.args[0]).lanes && bytes(result(i).scalar) == bytes(type(i.args[0]).scalar) &&
                    result(i).scalar != Scalar::I1 && type(i.args[0]).scalar != Scalar::I1,
                "sizes differ");
        break;
      case Op::Broadcast:
        count(i, 1, 1);
        use(i.args[0], {result(i).scalar, 1});
        break;
      case Op::Extract:
        count(i, 1, 1);
        require(result(i) == Type{type(i.args[0]).scalar, 1}, "its result is not a scalar of the vector");
        lane(i.imm, type(i.args[0]));
        break;
      case Op::Insert:
        count(i, 2, 2);
        require(result(i) == type(i.args[0]), "its result is not of the vector's type");
        use(i.args[1], {result(i).scalar, 1});
        lane(i.imm, result(i));
        break;
      case Op::Shuffle:
        count(i, 2, 2);
        use(i.args[1], type(i.args[0]));
        require(result(i) == Type{type(i.args[0]).scalar, static_cast<int>(i.mask.size())},
                "its result does not fit its mask");
        for (const int m : i.mask)
          if (m < -1 || m >= 2 * type(i.args[0]).lanes) fail("lane " + std::to_string(m) + " does not exist");
        break;
      case Op::Load:
        count(i, 1, 2);
        memory(i, false);
        use(i.args[0], kIndex);
        access(i, result(i), 1);
        break;
      case Op::Store:
        count(i, 2, 3);
        memory(i, true);
        use(i.args[0], kIndex);
        access(i, type(i.args[1]), 2);
        break;
      case Op::Gather:
        count(i, 1, 2);
        memory(i, false);
        use(i.args[0], {Scalar::I64, result(i).lanes});
        access(i, result(i), 1);
        break;
      case Op::Scatter:
        count(i, 2, 3);
        memory(i, true);
        use(i.args[0], {Scalar::I64, type(i.args[1]).lanes});
        access(i, type(i.args[1]), 2);
        break;
      case Op::Prefetch:
        count(i, 1, 1);
        memory(i, false);
        use(i.args[0], kIndex);
        require(i.result == kNoValue, "has no result");
        break;
      default: fail("an operation that does not exist");
    }
  }

  void lane(std::int64_t lane, const Type& t) const {
    if (lane < 0 || lane >= t.lanes) fail("lane " + std::to_string(lane) + " does not exist");
  }

  void memory(const Instr& i, bool writes) const {
    require(i.imm >= 0 && static_cast<std::size_t>(i.imm) < kernel_.buffers.size(), "no such buffer");
    const Buffer& b = kernel_.buffers[static_cast<std::size_t>(i.imm)];
    if (writes) {
      require(i.result == kNoValue, "has no result");
      require(b.role != BufferRole::Input && b.role != BufferRole::Constant, "writes an input");
      require(b.role != (prepare_ ? BufferRole::Output : BufferRole::Blob),
              prepare_ ? "prepare writes an output" : "run writes the blob");
    } else {
      require(!prepare_ || (b.role != BufferRole::Input && b.role != BufferRole::Output),
              "prepare touches what only run has");
      require(prepare_ || b.role != BufferRole::Constant || b.used_by_run,
              "run reads a constant that only prepare has");
    }
  }
  /// The value of a memory access against its buffer, and its mask, operand `mask`, if it has one.
  void access(const Instr& i, const Type& value, std::size_t mask) const {
    const Scalar element = scalar_of(kernel_.buffers[static_cast<std::size_t>(i.imm)].dtype);
    if (value.scalar != element) fail("the buffer holds " + std::string(to_string(element)));
    if (i.args.size() > mask) use(i.args[mask], {Scalar::I1, value.lanes});
  }

  void for_loop(const Instr& i, std::vector<Value>& scope) {
    count(i, 2, 2);
    use(i.args[0], kIndex);
    use(i.args[1], kIndex);
    require(i.imm >= 1, "its step is below 1");
    const Control& c = *i.control;
    require(c.else_body.empty() && c.else_yields.empty(), "a loop has no else");
    const std::size_t n = c.initial.size();
    require(c.params.size() == n && c.yields.size() == n && c.results.size() == n, "carried values differ in number");
    std::vector<Value> inner;
    define(c.induction, kIndex, inner);
    for (std::size_t k = 0; k < n; ++k) define(c.params[k], use(c.initial[k]), inner);
    block(c.body, inner);
    for (std::size_t k = 0; k < n; ++k) use(c.yields[k], type(c.params[k]));
    leave(inner);
    for (std::size_t k = 0; k < n; ++k) define(c.results[k], type(c.params[k]), scope);
  }

  void if_else(const Instr& i, std::vector<Value>& scope) {
    count(i, 1, 1);
    use(i.args[0], {Scalar::I1, 1});
    const Control& c = *i.control;
    require(c.induction == kNoValue && c.initial.empty() && c.params.empty(), "a branch carries nothing");
    const std::size_t n = c.results.size();
    require(c.yields.size() == n && c.else_yields.size() == n, "results and yields differ in number");
    branch(c.body, c.yields, c.results);
    branch(c.else_body, c.else_yields, c.results);
    for (const Value v : c.results) define(v, scope);
  }
  void branch(const Block& body, const std::vector<Value>& yields, const std::vector<Value>& results) {
    std::vector<Value> inner;
    block(body, inner);
    for (std::size_t k = 0; k < yields.size(); ++k) use(yields[k], type(results[k]));
    leave(inner);
  }

  const Kernel& kernel_;
  std::vector<State> state_;
  std::vector<bool> positive_;  ///< value is a positive ConstInt
  std::unordered_set<const Control*> controls_;
  std::string where_;
  const Instr* instr_ = nullptr;
  bool prepare_ = false;
};

}  // namespace

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace temper::lower
