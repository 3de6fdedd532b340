#include "temper/nest/program.h"

namespace temper::nest {

namespace {

std::string condition_text(const Condition& condition, const VarSpace& vars) {
  return analysis::print(condition.form, vars) + (condition.equality ? " == 0" : " >= 0");
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  void block(const std::vector<Node>& nodes, int depth) {
    for (const Node& node : nodes) {
      std::visit([&](const auto& value) { print(value, depth); }, node.value);
    }
  }
  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<std::size_t>(depth) * 2, ' ') + text + "\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string name(Var var) const { return program_.vars[var].name; }

  void print(const Loop& loop, int depth) {
    std::string text = (loop.reduce ? "reduce " : "for ") + name(loop.var) + " in " + std::to_string(loop.begin) +
                       ".." + std::to_string(loop.end);
    for (const Bound& bound : loop.lower)
      text += ", from ceil((" + analysis::print(bound.numerator, program_.vars) + ") / " +
              std::to_string(bound.divisor) + ")";
    for (const Bound& bound : loop.upper)
      text += ", to floor((" + analysis::print(bound.numerator, program_.vars) + ") / " +
              std::to_string(bound.divisor) + ")";
    if (loop.kind != schedule::Annotation::Serial) text += "  " + std::string(to_string(loop.kind));
    if (loop.lanes > 0) text += " x" + std::to_string(loop.lanes);
    line(depth, text + ":");
    block(loop.body, depth + 1);
  }
  void print(const FusedLoop& loop, int depth) {
    std::string text = loop.kind == schedule::Annotation::Parallel ? "parallel" : "fused";
    for (const FusedLoop::Component& c : loop.components) text += " " + name(c.var) + " in " + std::to_string(c.extent);
    line(depth, text + ":");
    block(loop.body, depth + 1);
  }
  void print(const Branch& branch, int depth) {
    if (branch.segments.size() == 1) return block(branch.segments[0].body, depth);
    for (const Branch::Segment& segment : branch.segments) {
      line(depth, "when " + name(branch.var) + " in " + std::to_string(segment.begin) + ".." +
                      std::to_string(segment.end) + ":");
      block(segment.body, depth + 1);
    }
  }
  void print(const Allocate& allocate, int depth) {
    const Storage& storage = program_.storages[static_cast<std::size_t>(allocate.storage)];
    std::string text = std::string(storage.kind == StorageKind::Register ? "registers " : "local ") +
                       program_.stages[static_cast<std::size_t>(storage.stage)]->name + "[";
    for (std::size_t i = 0; i < storage.extents.size(); ++i) {
      text += (i > 0 ? ", " : "") + analysis::print(storage.base[i], program_.vars) + " : " +
              std::to_string(storage.extents[i]);
    }
    line(depth, text + "]");
  }
  void print(const Prefetch& prefetch, int depth) {
    const Storage& storage = program_.storages[static_cast<std::size_t>(prefetch.storage)];
    std::string text = "prefetch " + program_.stages[static_cast<std::size_t>(storage.stage)]->name + "[";
    for (std::size_t i = 0; i < prefetch.base.size(); ++i) {
      text += (i > 0 ? ", " : "") + analysis::print(prefetch.base[i], program_.vars) + " : " +
              std::to_string(prefetch.extent[i]);
    }
    text += "]";
    if (prefetch.lines > 0) {
      text += " " + std::to_string(prefetch.lines) + " lines from " + analysis::print(prefetch.first, program_.vars);
    }
    line(depth, text);
  }
  void print(const Statement& s, int depth) {
    static constexpr const char* kKinds[] = {"init", "update", "finish", "define"};
    const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
    std::string text = std::string(kKinds[static_cast<int>(s.kind)]) + " " + stage.name + "[";
    for (std::size_t i = 0; i < stage.axes.size(); ++i)
      text += (i > 0 ? ", " : "") + analysis::print(s.axes[i], program_.vars);
    text += "]";
    for (std::size_t i = stage.axes.size(); i < s.axes.size(); ++i) {
      text += (i == stage.axes.size() ? " over " : ", ") + stage.reduce_axes[i - stage.axes.size()].name() + " = " +
              analysis::print(s.axes[i], program_.vars);
    }
    for (std::size_t i = 0; i < s.conditions.size(); ++i)
      text += (i == 0 ? " where " : " and ") + condition_text(s.conditions[i], program_.vars);
    line(depth, text);
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string print(const Program& program) {
  Printer printer(program);
  for (const Phase& phase : program.phases) {
    printer.line(0, std::string(phase.prepare ? "prepare " : "run ") +
                        program.stages[static_cast<std::size_t>(phase.stage)]->name + ":");
    printer.block(phase.body, 1);
  }
  return printer.take();
}

}  // namespace temper::nest
