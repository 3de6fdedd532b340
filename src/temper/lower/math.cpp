// The pass that replaces elementary functions by the formulas of math_formulas.h.
#include <optional>

#include "temper/lower/kernel.h"
#include "temper/lower/kernel_builder.h"
#include "temper/lower/math_formulas.h"
#include "temper/support/error.h"

namespace temper::lower {
namespace {

struct Formula {
  Op op;
  Value (*expand)(KernelBuilder&, Value);
  bool double_precision;  ///< exists for F64 too
};
constexpr Formula kFormulas[] = {
    {Op::Exp, exp_formula, true},         {Op::ExpNonPositive, exp_non_positive_formula, true},
    {Op::Log, log_formula, true},         {Op::Tanh, tanh_formula, true},
    {Op::Sigmoid, sigmoid_formula, true}, {Op::Erf, erf_formula, false},
    {Op::Sin, sin_formula, false},        {Op::Cos, cos_formula, false},
    {Op::Rsqrt, rsqrt_formula, true},     {Op::Sign, sign_formula, true},
};

class Expander {
 public:
  explicit Expander(Kernel& kernel) : kernel_(kernel), constants_(kernel.types.size()) {}

  void block(Block& old) {
    Block fresh;
    fresh.reserve(old.size());
    for (Instr& i : old) {
      note_constant(i);
      if (i.control) {
        block(i.control->body);
        block(i.control->else_body);
      }
      if (!expand(i, fresh)) fresh.push_back(std::move(i));
    }
    old = std::move(fresh);
  }

 private:
  void note_constant(const Instr& i) {
    if (i.op == Op::ConstFloat) constants_[static_cast<std::size_t>(i.result)] = i.fimm;
    if (i.op == Op::Broadcast)
      constants_[static_cast<std::size_t>(i.result)] = constants_[static_cast<std::size_t>(i.args[0])];
  }

  /// Appends the formula of `i` to `out`; its last instruction gets the result's number. False when `i` stays as it is.
  bool expand(const Instr& i, Block& out) {
    KernelBuilder b(kernel_, out);
    std::optional<Value> value;
    for (const Formula& f : kFormulas) {
      if (f.op != i.op) continue;
      require_type(i, f.double_precision);
      value = f.expand(b, i.args[0]);
    }
    if (i.op == Op::Pow) value = power(b, i);
    if (!value) return false;
    TEMPER_CHECK(!out.empty() && out.back().result == *value, "a formula ends with its result");
    out.back().result = i.result;
    return true;
  }

  void require_type(const Instr& i, bool double_precision) const {
    const Scalar s = kernel_.types[static_cast<std::size_t>(i.args[0])].scalar;
    if (s == Scalar::F32 || (s == Scalar::F64 && double_precision)) return;
    throw Error(ErrorCode::Unsupported, std::string(to_string(i.op)) + " is not there for f64", "expand_math",
                "compute it in f32");
  }

  /// Small whole powers and the root are products and roots: exact to the last place and cheap.
  Value power(KernelBuilder& b, const Instr& i) {
    const Value x = i.args[0];
    const Type t = b.type(x);
    const std::optional<double> y = constants_[static_cast<std::size_t>(i.args[1])];
    if (y == 1.0) return b.mul(x, b.const_float(1, t));
    if (y == 2.0) return b.mul(x, x);
    if (y == -1.0) return b.binary(Op::Div, b.const_float(1, t), x);
    require_type(i, false);
    return pow_formula(b, x, i.args[1]);
  }

  Kernel& kernel_;
  std::vector<std::optional<double>> constants_;
};

}  // namespace

void expand_math(Kernel& kernel) {
  Expander expander(kernel);
  for (Phase& p : kernel.prepare) expander.block(p.body);
  for (Phase& p : kernel.run) expander.block(p.body);
}

}  // namespace temper::lower
