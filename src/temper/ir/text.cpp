// Prints a compute definition. The grammar is described in parse.cpp, which reads it back.
#include <charconv>
#include <cmath>
#include <string>

#include "temper/ir/compute.h"
#include "temper/ir/expr_names.h"

namespace temper::ir {
namespace {

class Printer {
 public:
  std::string take() { return std::move(out_); }

  void compute(const Compute& compute) {
    for (const Parameter& p : compute.parameters) {
      out_ += "parameter " + p.name + " in " + std::to_string(p.min) + " .. " + std::to_string(p.max) + " by " +
              std::to_string(p.divisor) + "\n";
    }
    for (const StagePtr& stage : compute.stages) this->stage(*stage);
    for (const StagePtr& output : compute.outputs) out_ += "output " + output->name + "\n";
  }

  void expr(const Expr& e, int parent_precedence) {
    switch (e->kind) {
      case ExprKind::Int: integer(*e); return;
      case ExprKind::Float: floating(*e); return;
      case ExprKind::Var: out_ += e->axis.name(); return;
      case ExprKind::Param:
        out_ += '#';
        out_ += std::to_string(e->index);
        return;
      case ExprKind::Unary: call(spelling(e->unary), e->args); return;
      case ExprKind::Binary: binary(e, parent_precedence); return;
      case ExprKind::Select: call("select", e->args); return;
      case ExprKind::Cast:
        out_ += "cast(";
        out_ += to_string(e->dtype);
        out_ += ", ";
        expr(e->args[0], 0);
        out_ += ')';
        return;
      case ExprKind::Load:
        out_ += e->stage->name;
        if (e->index != 0) {
          out_ += '.';
          out_ += std::to_string(e->index);
        }
        out_ += '[';
        list(e->args);
        out_ += ']';
        return;
    }
  }

 private:
  void stage(const Stage& stage) {
    out_ += stage.kind == StageKind::Compute ? "stage " : stage.constant ? "constant " : "placeholder ";
    out_ += stage.name;
    axes(stage.axes);
    for (std::size_t i = 0; i < stage.strides.size(); ++i)
      out_ += (i == 0 ? " strides " : ", ") + std::to_string(stage.strides[i]);
    out_ += ": ";
    for (std::size_t i = 0; i < stage.dtypes.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += to_string(stage.dtypes[i]);
    }
    out_ += '\n';
    if (stage.kind == StageKind::Placeholder) return;
    if (stage.reducer) {
      const Reducer& reducer = *stage.reducer;
      out_ += "  reducer " + reducer.name;
      if (reducer.associative) out_ += " associative";
      if (reducer.commutative) out_ += " commutative";
      if (reducer.idempotent) out_ += " idempotent";
      clause(" identity ", reducer.identity);
      clause(" combine ", reducer.combine);
      out_ += "\n  over ";
      axes(stage.reduce_axes);
      out_ += '\n';
    }
    if (!stage.where.empty()) {
      clause("  where ", stage.where);
      out_ += '\n';
    }
    if (!stage.init.empty()) {
      clause("  init ", stage.init);
      out_ += '\n';
    }
    clause("  body ", stage.body);
    out_ += '\n';
  }

  void clause(std::string_view word, const std::vector<Expr>& values) {
    out_ += word;
    list(values);
  }

  void axes(const std::vector<Axis>& axes) {
    out_ += '[';
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += axes[i].name();
      out_ += ": ";
      extent(axes[i].extent());
    }
    out_ += ']';
  }

  void extent(const Extent& extent) {
    for (const auto& [name, coefficient] : extent.terms) out_ += std::to_string(coefficient) + "*" + name + " + ";
    out_ += std::to_string(extent.constant);
  }

  void list(const std::vector<Expr>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      expr(values[i], 0);
    }
  }

  void call(std::string_view name, const std::vector<Expr>& args) {
    out_ += name;
    out_ += '(';
    list(args);
    out_ += ')';
  }

  void binary(const Expr& e, int parent_precedence) {
    const BinarySpelling& op = spelling(e->binary);
    if (op.precedence == 0) {
      call(op.name, e->args);
      return;
    }
    const bool parentheses = op.precedence < parent_precedence;
    if (parentheses) out_ += '(';
    expr(e->args[0], op.precedence);
    out_ += ' ';
    out_ += op.name;
    out_ += ' ';
    expr(e->args[1], op.precedence + 1);
    if (parentheses) out_ += ')';
  }

  void integer(const ExprNode& node) {
    out_ += std::to_string(node.int_value);
    if (node.dtype != DType::I64) suffix(node.dtype);
  }

  /// Shortest text that reads back to the same bits; always with a point, an exponent, inf or nan.
  void floating(const ExprNode& node) {
    if (std::isnan(node.float_value)) {
      out_ += "nan";
    } else if (std::isinf(node.float_value)) {
      out_ += node.float_value < 0 ? "-inf" : "inf";
    } else {
      char buffer[64];
      const auto end = node.dtype == DType::F32
                           ? std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(node.float_value)).ptr
                           : std::to_chars(buffer, buffer + sizeof buffer, node.float_value).ptr;
      const std::string_view digits(buffer, static_cast<std::size_t>(end - buffer));
      out_ += digits;
      if (digits.find_first_of(".e") == std::string_view::npos) out_ += ".0";
    }
    if (node.dtype != DType::F32) suffix(node.dtype);
  }

  void suffix(DType dtype) {
    out_ += '_';
    out_ += to_string(dtype);
  }

  std::string out_;
};

}  // namespace

std::string print(const Compute& compute) {
  Printer printer;
  printer.compute(compute);
  return printer.take();
}

std::string print(const Expr& expr) {
  Printer printer;
  printer.expr(expr, 0);
  return printer.take();
}

}  // namespace temper::ir
