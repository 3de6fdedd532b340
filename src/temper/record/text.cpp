// The text forms of keys and candidates: `name(field=value,...)` and `name{field=value,...}`.
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "temper/record/record.h"
#include "temper/support/error.h"

namespace temper::record {
namespace {

constexpr std::string_view kSpecials = "\\,=()[]{}\n";
constexpr std::string_view kOpeners = "([{";
constexpr std::string_view kClosers = ")]}";

struct Form {
  const char* noun;  ///< in errors
  const char* shape;
  char open, close;
};
constexpr Form kTaskKeyForm{"task key", "operator(name=value,...)", '(', ')'};
constexpr Form kCandidateForm{"candidate", "design{knob=value,...}", '{', '}'};

void append_escaped(std::string& out, char c) {
  out += '\\';
  out += c == '\n' ? 'n' : c;
}

/// Writes a name: every special character is escaped.
void append_name(std::string& out, std::string_view name) {
  for (char c : name) {
    if (kSpecials.find(c) != std::string_view::npos) {
      append_escaped(out, c);
    } else {
      out += c;
    }
  }
}

/// Whether every bracket of `text` closes the one opened last.
bool is_balanced(std::string_view text) {
  std::string expected;
  for (char c : text) {
    if (const std::size_t opener = kOpeners.find(c); opener != std::string_view::npos) {
      expected += kClosers[opener];
    } else if (kClosers.find(c) != std::string_view::npos) {
      if (expected.empty() || expected.back() != c) return false;
      expected.pop_back();
    }
  }
  return expected.empty();
}

/// Writes a value: brackets and the commas between them stand for themselves when the brackets are balanced.
void append_value(std::string& out, std::string_view value) {
  const bool balanced = is_balanced(value);
  int depth = 0;
  for (char c : value) {
    const bool opens = kOpeners.find(c) != std::string_view::npos, closes = kClosers.find(c) != std::string_view::npos;
    depth += opens ? 1 : closes ? -1 : 0;
    const bool plain_comma = c == ',' && balanced && depth > 0;
    const bool plain_bracket = (opens || closes) && balanced;
    if (c == '=' || plain_comma || plain_bracket || kSpecials.find(c) == std::string_view::npos) {
      out += c;
    } else {
      append_escaped(out, c);
    }
  }
}

/// Reads one of the two forms; positions in errors count characters from 1.
class Reader {
 public:
  Reader(std::string_view text, const Form& form) : text_(text), form_(form) {}

  std::string read_name(char end, const char* expected) {
    std::string name;
    while (true) {
      if (at_end()) fail(expected);
      const char c = text_[position_];
      if (c == end) break;
      if (c == '\\') {
        name += read_escape();
      } else if (kSpecials.find(c) != std::string_view::npos) {
        fail(expected);
      } else {
        name += c;
        ++position_;
      }
    }
    ++position_;  // the end itself
    return name;
  }

  /// Stops before the comma or closing bracket that ends the value.
  std::string read_value() {
    std::string value, expected;
    while (true) {
      if (at_end())
        fail(expected.empty() ? "',' or the closing bracket after a value" : "the bracket that closes a value's");
      const char c = text_[position_];
      if (c == '\\') {
        value += read_escape();
        continue;
      }
      if (expected.empty() && (c == ',' || c == form_.close)) return value;
      if (const std::size_t opener = kOpeners.find(c); opener != std::string_view::npos) {
        expected += kClosers[opener];
      } else if (kClosers.find(c) != std::string_view::npos) {
        if (expected.empty() || expected.back() != c) fail("balanced brackets in a value");
        expected.pop_back();
      } else if (c == '\n') {
        fail("no line break (it is written \\n)");
      }
      value += c;
      ++position_;
    }
  }

  /// Calls `field(name)` for each field, positioned at its value.
  template <typename Field>
  void read_fields(Field&& field) {
    if (!at_end() && text_[position_] == form_.close) {
      ++position_;
    } else {
      while (true) {
        std::string name = read_name('=', "'=' after a field's name");
        field(std::move(name));
        if (at_end()) fail("',' or the closing bracket after a value");
        const char c = text_[position_++];
        if (c == form_.close) break;
      }
    }
    if (!at_end()) fail("nothing after the closing bracket");
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(ErrorCode::InvalidArgument, "cannot read a " + std::string(form_.noun) + ": expected " + expected,
                "character " + std::to_string(position_ + 1) + " of '" + std::string(text_) + "'",
                "the form is " + std::string(form_.shape));
  }

 private:
  bool at_end() const { return position_ >= text_.size(); }

  char read_escape() {
    ++position_;
    if (at_end()) fail("a character after '\\'");
    const char c = text_[position_];
    if (c != 'n' && kSpecials.find(c) == std::string_view::npos) fail("an escaped special character after '\\'");
    ++position_;
    return c == 'n' ? '\n' : c;
  }

  std::string_view text_;
  const Form& form_;
  std::size_t position_ = 0;
};

}  // namespace

std::string TaskKey::text() const {
  std::string out;
  append_name(out, op);
  out += kTaskKeyForm.open;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    append_name(out, fields[i].first);
    out += '=';
    append_value(out, fields[i].second);
  }
  return out + kTaskKeyForm.close;
}

TaskKey TaskKey::parse(std::string_view text) {
  Reader reader(text, kTaskKeyForm);
  TaskKey key;
  key.op = reader.read_name(kTaskKeyForm.open, "an operator's name and '('");
  reader.read_fields([&](std::string name) { key.fields.emplace_back(std::move(name), reader.read_value()); });
  return key;
}

std::string CandidateRecord::text() const {
  std::string out;
  append_name(out, design);
  out += kCandidateForm.open;
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if (i > 0) out += ',';
    append_name(out, knobs[i].first);
    out += '=' + std::to_string(knobs[i].second);
  }
  return out + kCandidateForm.close;
}

CandidateRecord CandidateRecord::parse(std::string_view text) {
  Reader reader(text, kCandidateForm);
  CandidateRecord candidate;
  candidate.design = reader.read_name(kCandidateForm.open, "a design's name and '{'");
  reader.read_fields([&](std::string name) {
    const std::string digits = reader.read_value();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      reader.fail("a whole number of 64 bits as the value of '" + name + "'");
    }
    candidate.knobs.emplace_back(std::move(name), value);
  });
  return candidate;
}

}  // namespace temper::record
