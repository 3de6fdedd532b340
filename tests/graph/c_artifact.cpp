#include "graph/c_artifact.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "paths.h"
#include "runtime/temporary_folder.h"
#include "temper/support/error.h"

namespace temper::graph::testing {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::Expr;
using ir::ExprKind;
using ir::UnaryOp;

constexpr const char* kPrelude = R"(
#include <math.h>
#include <stddef.h>
#include "temper/target/artifact_abi.h"
#define FUNCTIONS(T, X)                                                    \
  static inline T min_##X(T a, T b) { return a < b || a != a ? a : b; }    \
  static inline T max_##X(T a, T b) { return a > b || a != a ? a : b; }    \
  static inline T sign_##X(T a) { return (T)((a > 0) - (a < 0)); }
FUNCTIONS(float, f32) FUNCTIONS(double, f64) FUNCTIONS(int8_t, i8) FUNCTIONS(uint8_t, u8)
FUNCTIONS(int32_t, i32) FUNCTIONS(int64_t, i64) FUNCTIONS(uint8_t, bool)
static inline int64_t floor_div(int64_t a, int64_t b) { int64_t q = a / b; return q - (a % b != 0 && (a < 0) != (b < 0)); }
static inline int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
)";

const char* c_type(DType dtype) {
  switch (dtype) {
    case DType::F32: return "float";
    case DType::F64: return "double";
    case DType::I8: return "int8_t";
    case DType::U8: return "uint8_t";
    case DType::I32: return "int32_t";
    case DType::I64: return "int64_t";
    case DType::Bool: return "uint8_t";
  }
  return "";
}

std::string buffer_name(const ir::Stage& stage, int component) {
  return stage.name + (stage.dtypes.size() > 1 ? "_" + std::to_string(component) : "");
}

class Writer {
 public:
  explicit Writer(const ir::Compute& compute) : compute_(compute) {}

  std::string run() {
    std::ostringstream body;
    for (const ir::StagePtr& stage : compute_.stages) {
      for (std::size_t c = 0; c < stage->dtypes.size(); ++c) declare(*stage, static_cast<int>(c));
    }
    for (const ir::StagePtr& stage : compute_.stages) {
      if (stage->kind == ir::StageKind::Compute) write_stage(*stage, body);
    }
    std::ostringstream text;
    text << kPrelude << "static void run(void* const* buffers, void* scratch, int64_t begin, int64_t end) {\n"
         << "  (void)scratch; (void)begin; (void)end;\n"
         << pointers_.str() << body.str() << "}\n"
         << "static const struct temper_buffer buffer_list[] = {" << table_.str() << "};\n"
         << "static const struct temper_phase phases[] = {{run, 1, 0}};\n"
         << "__attribute__((visibility(\"default\"))) const struct temper_artifact temper_artifact = "
            "{TEMPER_ARTIFACT_MAGIC, "
         << "TEMPER_ARTIFACT_ABI_VERSION, " << count_ << ", 0, 1, 0, buffer_list, 0, phases};\n";
    return text.str();
  }

 private:
  bool is_output(const ir::Stage& stage) const {
    for (const ir::StagePtr& output : compute_.outputs) {
      if (output.get() == &stage) return true;
    }
    return false;
  }

  void declare(const ir::Stage& stage, int component) {
    const DType dtype = stage.dtypes[static_cast<std::size_t>(component)];
    const char* role = "TEMPER_WORKSPACE";
    if (stage.kind == ir::StageKind::Placeholder) role = stage.constant ? "TEMPER_CONSTANT" : "TEMPER_INPUT";
    if (is_output(stage)) role = "TEMPER_OUTPUT";
    const std::string name = buffer_name(stage, component);
    pointers_ << "  " << c_type(dtype) << "* b_" << name << " = buffers[" << count_ << "];\n";
    table_ << "{\"" << name << "\", " << role << ", " << static_cast<int>(dtype) << ", "
           << stage.memory_elements() * ir::bytes(dtype) << ", 1, 0},";
    ++count_;
  }

  std::string variable(const ir::Axis& axis) {
    const auto [entry, is_new] = variables_.try_emplace(axis.get(), "v" + std::to_string(variables_.size()));
    return entry->second;
  }

  void open_loops(const std::vector<ir::Axis>& axes, std::ostringstream& out) {
    for (const ir::Axis& axis : axes) {
      const std::string v = variable(axis);
      out << "for (int64_t " << v << " = 0; " << v << " < " << axis.extent().value() << "; ++" << v << ") {\n";
    }
  }
  static void close_loops(std::size_t count, std::ostringstream& out) { out << std::string(count, '}') << "\n"; }

  std::string offset(const ir::Stage& stage, const std::vector<Expr>& index) {
    std::string text = "0";
    const std::vector<std::int64_t> strides = stage.memory_strides();
    for (std::size_t i = 0; i < strides.size(); ++i)
      text += " + INT64_C(" + std::to_string(strides[i]) + ") * " + expression(index[i]);
    return text;
  }

  void write_stage(const ir::Stage& stage, std::ostringstream& out) {
    open_loops(stage.axes, out);
    const std::vector<Expr> index(stage.axes.begin(), stage.axes.end());
    const auto target = [&](std::size_t c) {
      return "b_" + buffer_name(stage, static_cast<int>(c)) + "[" + offset(stage, index) + "]";
    };
    if (!stage.is_reduction()) {
      for (std::size_t c = 0; c < stage.body.size(); ++c)
        out << target(c) << " = " << expression(stage.body[c]) << ";\n";
    } else {
      const auto declare_values = [&](const std::string& prefix, const std::vector<Expr>& values) {
        for (std::size_t c = 0; c < values.size(); ++c) {
          out << c_type(stage.dtypes[c]) << " " << prefix << c << " = " << expression(values[c]) << ";\n";
        }
      };
      declare_values("p", stage.init.empty() ? stage.reducer->identity : stage.init);
      open_loops(stage.reduce_axes, out);
      std::string condition = "1";
      for (const Expr& where : stage.where) condition += " && " + expression(where);
      out << "if (" << condition << ") {\n";
      declare_values("t", stage.body);
      arity_ = stage.reducer->arity();
      declare_values("r", stage.reducer->combine);
      for (std::size_t c = 0; c < stage.body.size(); ++c) out << "p" << c << " = r" << c << ";\n";
      out << "}\n";
      close_loops(stage.reduce_axes.size(), out);
      for (std::size_t c = 0; c < stage.body.size(); ++c) out << target(c) << " = p" << c << ";\n";
    }
    close_loops(stage.axes.size(), out);
  }

  std::string unary(const ir::ExprNode& e) {
    const std::string a = expression(e.args[0]), type = c_type(e.dtype);
    const std::string x = std::string(ir::to_string(e.dtype));
    switch (e.unary) {
      case UnaryOp::Neg: return "(-" + a + ")";
      case UnaryOp::Abs: return ir::is_float(e.dtype) ? "fabs(" + a + ")" : "llabs(" + a + ")";
      case UnaryOp::Not: return "(!" + a + ")";
      case UnaryOp::Exp: return "exp(" + a + ")";
      case UnaryOp::Log: return "log(" + a + ")";
      case UnaryOp::Sqrt: return "sqrt(" + a + ")";
      case UnaryOp::Rsqrt: return "(1 / sqrt(" + a + "))";
      case UnaryOp::Tanh: return "tanh(" + a + ")";
      case UnaryOp::Erf: return "erf(" + a + ")";
      case UnaryOp::Sigmoid: return "(1 / (1 + exp(-" + a + ")))";
      case UnaryOp::Sin: return "sin(" + a + ")";
      case UnaryOp::Cos: return "cos(" + a + ")";
      case UnaryOp::Floor: return "floor(" + a + ")";
      case UnaryOp::Ceil: return "ceil(" + a + ")";
      case UnaryOp::Round: return "rint(" + a + ")";
      case UnaryOp::Sign: return "sign_" + x + "(" + a + ")";
    }
    return "";
  }

  std::string binary(const ir::ExprNode& e) {
    const std::string a = expression(e.args[0]), b = expression(e.args[1]);
    const std::string x = std::string(ir::to_string(e.args[0].dtype()));
    const auto infix = [&](const char* op) { return "(" + a + " " + op + " " + b + ")"; };
    switch (e.binary) {
      case BinaryOp::Add: return infix("+");
      case BinaryOp::Sub: return infix("-");
      case BinaryOp::Mul: return infix("*");
      case BinaryOp::Div: return infix("/");
      case BinaryOp::FloorDiv: return "floor_div(" + a + ", " + b + ")";
      case BinaryOp::Mod: return "floor_mod(" + a + ", " + b + ")";
      case BinaryOp::Min: return "min_" + x + "(" + a + ", " + b + ")";
      case BinaryOp::Max: return "max_" + x + "(" + a + ", " + b + ")";
      case BinaryOp::Pow: return "pow(" + a + ", " + b + ")";
      case BinaryOp::Lt: return infix("<");
      case BinaryOp::Le: return infix("<=");
      case BinaryOp::Gt: return infix(">");
      case BinaryOp::Ge: return infix(">=");
      case BinaryOp::Eq: return infix("==");
      case BinaryOp::Ne: return infix("!=");
      case BinaryOp::And: return infix("&&");
      case BinaryOp::Or: return infix("||");
    }
    return "";
  }

  std::string expression(const Expr& expr) {
    const ir::ExprNode& e = *expr;
    switch (e.kind) {
      case ExprKind::Int: return "((" + std::string(c_type(e.dtype)) + ")" + std::to_string(e.int_value) + "LL)";
      case ExprKind::Float: {
        if (e.float_value != e.float_value) return "NAN";
        if (e.float_value - e.float_value != 0) return e.float_value > 0 ? "INFINITY" : "(-INFINITY)";
        char text[64];
        std::snprintf(text, sizeof text, "((%s)%a)", c_type(e.dtype), e.float_value);
        return text;
      }
      case ExprKind::Var: return variable(e.axis);
      case ExprKind::Param:
        return e.index < arity_ ? "p" + std::to_string(e.index) : "t" + std::to_string(e.index - arity_);
      case ExprKind::Unary: return "((" + std::string(c_type(e.dtype)) + ")" + unary(e) + ")";
      case ExprKind::Binary: return "((" + std::string(c_type(e.dtype)) + ")" + binary(e) + ")";
      case ExprKind::Select:
        return "(" + expression(e.args[0]) + " ? " + expression(e.args[1]) + " : " + expression(e.args[2]) + ")";
      case ExprKind::Cast:
        if (e.dtype == DType::Bool) return "(" + expression(e.args[0]) + " != 0)";
        return "((" + std::string(c_type(e.dtype)) + ")" + expression(e.args[0]) + ")";
      case ExprKind::Load: return "b_" + buffer_name(*e.stage, e.index) + "[" + offset(*e.stage, e.args) + "]";
    }
    return "";
  }

  const ir::Compute& compute_;
  std::ostringstream pointers_, table_;
  std::map<const ir::AxisNode*, std::string> variables_;
  int count_ = 0;
  int arity_ = 1;
};

}  // namespace

runtime::Bytes compile_with_c(const ir::Compute& compute) {
  const ::temper::testing::TemporaryFolder folder;
  const std::string source = folder / "kernel.c", object = folder / "kernel.so";
  std::ofstream(source) << Writer(compute).run();
  const std::string command = std::string(TEMPER_C_COMPILER) + " -std=gnu11 -O1 -ffp-contract=off -shared -fPIC -I" +
                              paths::source() + "/src -o " + object + " " + source + " -lm";
  TEMPER_CHECK(std::system(command.c_str()) == 0, "the C compiler refused:\n" + Writer(compute).run());
  std::ifstream stream(object, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  return runtime::Bytes::copy_of(std::as_bytes(std::span(bytes)));
}

}  // namespace temper::graph::testing
