#include "temper/lower/kernel_text.h"

#include <array>
#include <charconv>
#include <sstream>

namespace temper::lower {
namespace {

constexpr std::array kScalarNames{"i1", "i8", "u8", "i32", "i64", "f32", "f64"};
constexpr std::array kRoleNames{"input", "constant", "output", "blob", "workspace", "scratch", "stack"};

std::string_view to_string(BufferRole role) { return kRoleNames.at(static_cast<std::size_t>(role)); }

std::string number(double value) {
  std::array<char, 64> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string value(Value v) const { return '%' + std::to_string(v); }
  std::string typed(Value v) const {
    const bool known = v >= 0 && static_cast<std::size_t>(v) < kernel_.types.size();
    return value(v) + ':' + (known ? lower::to_string(kernel_.types[static_cast<std::size_t>(v)]) : "?");
  }
  std::string list(const std::vector<Value>& values) const {
    std::string s;
    for (const Value v : values) s += (s.empty() ? "" : ", ") + value(v);
    return s;
  }
  std::string buffer(std::int64_t number) const {
    const bool known = number >= 0 && static_cast<std::size_t>(number) < kernel_.buffers.size();
    return '@' + std::to_string(number) + (known ? '.' + kernel_.buffers[static_cast<std::size_t>(number)].name : "");
  }

  /// The line of an instruction, without indentation and end of line.
  std::string head(const Instr& i) const {
    std::string s = i.result == kNoValue ? "" : typed(i.result) + " = ";
    s += to_string(i.op);
    switch (i.op) {
      case Op::ConstInt: return s + ' ' + std::to_string(i.imm);
      case Op::ConstFloat: return s + ' ' + number(i.fimm);
      case Op::ConstMask: return s + ' ' + mask_bits(i);
      case Op::Extract:
      case Op::Insert: return s + ' ' + list(i.args) + ", lane " + std::to_string(i.imm);
      case Op::Shuffle: return s + ' ' + list(i.args) + ", " + lanes(i.mask);
      case Op::Load:
      case Op::Gather:
      case Op::Prefetch: return s + ' ' + buffer(i.imm) + '[' + argument(i, 0) + ']' + masked(i, 1);
      case Op::Store:
      case Op::Scatter: return s + ' ' + buffer(i.imm) + '[' + argument(i, 0) + "] = " + argument(i, 1) + masked(i, 2);
      case Op::For: return s + loop(i);
      case Op::If: return s + ' ' + list(i.args) + results(i);
      default: return i.args.empty() ? s : s + ' ' + list(i.args);
    }
  }

  void block(std::ostream& out, const Block& b, int depth) const {
    for (const Instr& i : b) {
      indent(out, depth) << head(i) << '\n';
      if (!i.control) continue;
      block(out, i.control->body, depth + 1);
      if (!i.control->yields.empty()) indent(out, depth + 1) << "yield " << list(i.control->yields) << '\n';
      if (i.op == Op::If && !(i.control->else_body.empty() && i.control->else_yields.empty())) {
        indent(out, depth) << "else\n";
        block(out, i.control->else_body, depth + 1);
        if (!i.control->else_yields.empty()) indent(out, depth + 1) << "yield " << list(i.control->else_yields) << '\n';
      }
    }
  }

  void phase(std::ostream& out, std::string_view entry, const Phase& p) const {
    out << entry << " \"" << p.name << "\" " << value(p.index) << " in " << p.extent;
    if (p.scratch_bytes != 0) out << " scratch " << p.scratch_bytes;
    out << '\n';
    block(out, p.body, 1);
  }

  void kernel(std::ostream& out) const {
    for (std::size_t i = 0; i < kernel_.arguments.size(); ++i) {
      const Argument& a = kernel_.arguments[i];
      out << "argument " << i << " \"" << a.name << "\" " << to_string(a.role) << ' ' << ir::to_string(a.dtype) << ' '
          << a.bytes << " bytes" << (a.used_by_run ? "" : " prepare_only") << '\n';
    }
    for (std::size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& b = kernel_.buffers[i];
      out << "buffer @" << i << '.' << b.name << ' ' << to_string(b.role) << ' ' << ir::to_string(b.dtype) << '['
          << b.elements << ']';
      if (b.argument >= 0) out << " argument " << b.argument;
      if (b.offset != 0) out << " offset " << b.offset;
      out << (b.used_by_run ? "" : " prepare_only") << '\n';
    }
    for (const Phase& p : kernel_.prepare) phase(out, "prepare", p);
    for (const Phase& p : kernel_.run) phase(out, "run", p);
  }

 private:
  static std::ostream& indent(std::ostream& out, int depth) {
    return out << std::string(static_cast<std::size_t>(depth) * 2, ' ');
  }
  std::string argument(const Instr& i, std::size_t n) const { return n < i.args.size() ? value(i.args[n]) : "?"; }
  std::string masked(const Instr& i, std::size_t n) const {
    return n < i.args.size() ? " where " + value(i.args[n]) : "";
  }
  std::string mask_bits(const Instr& i) const {
    std::string s;
    const int count = i.result >= 0 ? kernel_.types.at(static_cast<std::size_t>(i.result)).lanes : 0;
    for (int lane = 0; lane < count && lane < 64; ++lane)
      s += static_cast<std::uint64_t>(i.imm) >> lane & 1u ? '1' : '0';
    return s;
  }
  static std::string lanes(const std::vector<int>& mask) {
    std::string s = "[";
    for (const int m : mask) s += (s.size() > 1 ? " " : "") + (m < 0 ? std::string("_") : std::to_string(m));
    return s + ']';
  }
  std::string loop(const Instr& i) const {
    std::string s = ' ' + (i.control ? value(i.control->induction) : "?") + " in " + argument(i, 0) + " to " +
                    argument(i, 1) + " step " + std::to_string(i.imm);
    if (!i.control) return s;
    if (!i.control->params.empty()) {
      s += " carry ";
      for (std::size_t p = 0; p < i.control->params.size(); ++p) {
        s += (p == 0 ? "" : ", ") + typed(i.control->params[p]) + " = " +
             (p < i.control->initial.size() ? value(i.control->initial[p]) : "?");
      }
    }
    return s + results(i) + (i.control->barrier ? " barrier" : "");
  }
  std::string results(const Instr& i) const {
    if (!i.control || i.control->results.empty()) return "";
    std::string s = " -> ";
    for (std::size_t r = 0; r < i.control->results.size(); ++r)
      s += (r == 0 ? "" : ", ") + typed(i.control->results[r]);
    return s;
  }

  const Kernel& kernel_;
};

}  // namespace

std::string_view to_string(Scalar scalar) { return kScalarNames.at(static_cast<std::size_t>(scalar)); }
std::string to_string(const Type& type) {
  return std::string(to_string(type.scalar)) + (type.lanes == 1 ? "" : 'x' + std::to_string(type.lanes));
}
std::string print(const Kernel& kernel, const Instr& instr) { return Printer(kernel).head(instr); }

std::string print(const Kernel& kernel) {
  std::ostringstream out;
  Printer(kernel).kernel(out);
  return out.str();
}

}  // namespace temper::lower
