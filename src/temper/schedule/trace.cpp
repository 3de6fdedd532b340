#include "temper/schedule/trace.h"

#include <charconv>

namespace temper::schedule {

namespace {

[[noreturn]] void malformed(const std::string& what) { throw Error(ErrorCode::InvalidArgument, what, "trace"); }

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) malformed("'" + std::string(text) + "' is not a number");
  return value;
}

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

template <class Enum>
Enum parse_enum(std::string_view text, int count) {
  for (int i = 0; i < count; ++i) {
    if (to_string(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  }
  malformed("unknown word '" + std::string(text) + "'");
}

std::vector<Loop> parse_loops(const Schedule& s, const std::string& stage, const std::string& names) {
  std::vector<Loop> loops;
  for (const std::string& name : split_words(names, ',')) loops.push_back(s.loop(stage, name));
  return loops;
}

/// `a/16%0+0` with the stage's axis names.
LayoutDim parse_dim(const Schedule& s, const std::string& stage, const std::string& text) {
  const std::size_t slash = text.find('/'), percent = text.find('%'), plus = text.find('+');
  if (slash == std::string::npos || percent == std::string::npos || plus == std::string::npos ||
      !(slash < percent && percent < plus)) {
    malformed("'" + text + "' is not a layout dimension axis/divisor%modulus+pad");
  }
  LayoutDim dim;
  const std::string axis = text.substr(0, slash);
  const auto& axes = s[s.stage(stage)].definition->axes;
  dim.axis = -1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name() == axis) dim.axis = static_cast<int>(i);
  }
  if (dim.axis < 0) malformed("stage '" + stage + "' has no axis '" + axis + "'");
  dim.divisor = number(std::string_view(text).substr(slash + 1, percent - slash - 1));
  dim.modulus = number(std::string_view(text).substr(percent + 1, plus - percent - 1));
  dim.pad = number(std::string_view(text).substr(plus + 1));
  return dim;
}

using Args = std::vector<std::string>;

constexpr Primitive kPrimitives[] = {
    {"split", "STAGE LOOP F1xF2x… peel|mask|balance|round_up|shift_inwards",
     [](Schedule& s, const Args& a) {
       std::vector<std::int64_t> factors;
       for (const std::string& word : split_words(a.at(2), 'x')) factors.push_back(number(word));
       s.split(s.loop(a.at(0), a.at(1)), factors, parse_enum<Tail>(a.at(3), 5));
     }},
    {"fuse", "STAGE LOOP,LOOP…", [](Schedule& s, const Args& a) { s.fuse(parse_loops(s, a.at(0), a.at(1))); }},
    {"reorder", "STAGE LOOP,LOOP…", [](Schedule& s, const Args& a) { s.reorder(parse_loops(s, a.at(0), a.at(1))); }},
    {"parallel", "STAGE LOOP", [](Schedule& s, const Args& a) { s.parallel(s.loop(a.at(0), a.at(1))); }},
    {"vectorize", "STAGE LOOP", [](Schedule& s, const Args& a) { s.vectorize(s.loop(a.at(0), a.at(1))); }},
    {"unroll", "STAGE LOOP", [](Schedule& s, const Args& a) { s.unroll(s.loop(a.at(0), a.at(1))); }},
    {"prefetch", "SOURCE STAGE LOOP DISTANCE",
     [](Schedule& s, const Args& a) { s.prefetch(a.at(0), s.loop(a.at(1), a.at(2)), number(a.at(3))); }},
    {"prefetch_ahead", "SOURCE STAGE LOOP LINES OUTER AHEAD LOOP*LINES,…|-",
     [](Schedule& s, const Args& a) {
       std::vector<Turn> turns;
       for (const std::string& word : a.at(6) == "-" ? std::vector<std::string>{} : split_words(a.at(6), ',')) {
         const std::size_t star = word.rfind('*');
         if (star == std::string::npos) malformed("'" + word + "' is not LOOP*LINES");
         turns.push_back({s.loop(a.at(4), word.substr(0, star)), number(std::string_view(word).substr(star + 1))});
       }
       s.prefetch_ahead(a.at(0), s.loop(a.at(1), a.at(2)), number(a.at(3)), s.loop(a.at(4), a.at(5)), turns);
     }},
    {"compute_at", "STAGE CONSUMER LOOP",
     [](Schedule& s, const Args& a) { s.compute_at(a.at(0), s.loop(a.at(1), a.at(2))); }},
    {"compute_inline", "STAGE", [](Schedule& s, const Args& a) { s.compute_inline(a.at(0)); }},
    {"compute_root", "STAGE", [](Schedule& s, const Args& a) { s.compute_root(a.at(0)); }},
    {"store_at", "STAGE CONSUMER LOOP",
     [](Schedule& s, const Args& a) { s.store_at(a.at(0), s.loop(a.at(1), a.at(2))); }},
    {"cache_read", "SOURCE CONSUMER", [](Schedule& s, const Args& a) { s.cache_read(a.at(0), a.at(1)); }},
    {"cache_write", "STAGE", [](Schedule& s, const Args& a) { s.cache_write(a.at(0)); }},
    {"rfactor", "STAGE AXIS FACTOR", [](Schedule& s, const Args& a) { s.rfactor(a.at(0), a.at(1), number(a.at(2))); }},
    {"fuse_axes", "STAGE AXIS AXIS", [](Schedule& s, const Args& a) { s.fuse_axes(a.at(0), a.at(1), a.at(2)); }},
    {"set_layout", "STAGE AXIS/DIVISOR%MODULUS+PAD,…",
     [](Schedule& s, const Args& a) {
       std::vector<LayoutDim> layout;
       for (const std::string& word : split_words(a.at(1), ',')) layout.push_back(parse_dim(s, a.at(0), word));
       s.set_layout(a.at(0), layout);
     }},
    {"set_scope", "STAGE memory|register",
     [](Schedule& s, const Args& a) { s.set_scope(a.at(0), parse_enum<Scope>(a.at(1), 2)); }},
    {"prepared", "STAGE", [](Schedule& s, const Args& a) { s.prepared(a.at(0)); }},
};

}  // namespace

std::span<const Primitive> primitives() { return kPrimitives; }

std::string print(const Trace& trace) {
  std::string text;
  for (const Step& step : trace) {
    text += step.primitive;
    for (const std::string& arg : step.args) text += " " + arg;
    text += "\n";
  }
  return text;
}

Trace parse_trace(std::string_view text) {
  Trace trace;
  int line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    std::vector<std::string> words = split_words(line, ' ');
    if (words.empty() || words[0][0] == '#') continue;
    const auto known = primitives();
    bool found = false;
    for (const Primitive& primitive : known) found = found || primitive.name == words[0];
    if (!found) {
      throw Error(ErrorCode::InvalidArgument, "unknown primitive '" + words[0] + "'",
                  "trace, line " + std::to_string(line_number));
    }
    trace.push_back({words[0], Args(words.begin() + 1, words.end())});
  }
  return trace;
}

void replay(Schedule& schedule, const Trace& trace) {
  for (const Step& step : trace) {
    bool found = false;
    for (const Primitive& primitive : primitives()) {
      if (primitive.name != step.primitive) continue;
      found = true;
      std::size_t words = 1;
      for (char c : primitive.usage) words += c == ' ' ? 1 : 0;
      if (step.args.size() != words) {
        malformed("'" + step.primitive + "' takes " + std::to_string(words) + " words (" +
                  std::string(primitive.usage) + "), not " + std::to_string(step.args.size()));
      }
      primitive.apply(schedule, step.args);
      break;
    }
    if (!found) malformed("unknown primitive '" + step.primitive + "'");
  }
}

}  // namespace temper::schedule
