#include "temper/ops/spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "temper/support/error.h"

namespace temper::ops {
namespace {

constexpr SpecField kDtype{"dtype", "f32", "f32 or f64"};
constexpr SpecField kConst{"const", "weights", "weights or none: which inputs are constant"};
constexpr SpecField kEpilogue{"epilogue", "none", "elementwise items joined by '+', such as bias+relu"};

const SpecOperator kOperators[] = {
    {"matmul",
     {{"batch", "1", "number of matrices"},
      {"m", "", "rows of A"},
      {"n", "", "columns of B"},
      {"k", "", "columns of A"},
      {"trans_a", "0", "1: A is stored as [k,m]"},
      {"trans_b", "0", "1: B is stored as [n,k]"},
      kDtype,
      kEpilogue,
      kConst}},
    {"conv2d",
     {{"n", "1", "images"},
      {"ic", "", "input channels"},
      {"h", "", "input rows"},
      {"w", "", "input columns"},
      {"oc", "", "output channels"},
      {"kh", "", "kernel rows"},
      {"kw", "", "kernel columns"},
      {"stride", "1", "one number or y:x"},
      {"pad", "0", "one number, y:x or top:left:bottom:right"},
      {"dilation", "1", "one number or y:x"},
      {"groups", "1", "groups of channels; depthwise: groups = ic = oc"},
      {"layout", "nchw", "nchw, nhwc, or blocks of channels: nchw8c, nchw16c"},
      kDtype,
      kEpilogue,
      kConst}},
    {"conv1d",
     {{"n", "1", "sequences"},
      {"ic", "", "input channels"},
      {"w", "", "input positions"},
      {"oc", "", "output channels"},
      {"kw", "", "kernel positions"},
      {"stride", "1", "a number"},
      {"pad", "0", "one number or left:right"},
      {"dilation", "1", "a number"},
      {"groups", "1", "groups of channels"},
      {"layout", "nchw", "nchw or nhwc, with one row"},
      kDtype,
      kEpilogue,
      kConst}},
    {"conv_transpose2d",
     {{"n", "1", "images"},
      {"ic", "", "input channels"},
      {"h", "", "input rows"},
      {"w", "", "input columns"},
      {"oc", "", "output channels"},
      {"kh", "", "kernel rows"},
      {"kw", "", "kernel columns"},
      {"stride", "1", "one number or y:x"},
      {"pad", "0", "one number, y:x or top:left:bottom:right"},
      {"output_padding", "0", "one number or y:x"},
      {"groups", "1", "groups of channels"},
      {"layout", "nchw", "nchw or nhwc"},
      kDtype,
      kEpilogue,
      kConst}},
    {"softmax", {{"rows", "", "rows"}, {"cols", "", "elements of a row"}, kDtype}},
    {"layernorm",
     {{"rows", "", "rows"},
      {"cols", "", "elements of a row"},
      {"epsilon", "1e-05", "added to the variance"},
      kDtype,
      kConst}},
    {"attention",
     {{"batch", "1", "sequences"},
      {"heads", "", "heads of the queries"},
      {"key_heads", "0", "heads of keys and values, shared by groups of query heads; 0: as heads"},
      {"queries", "", "queries of a head"},
      {"keys", "", "keys of a head"},
      {"depth", "", "elements of a query and of a key"},
      {"value_depth", "0", "elements of a value; 0: as depth"},
      {"scale", "none", "of the scores; none: 1/sqrt(depth)"},
      {"mask", "none", "none, or the sizes b:h:q:k of what is added to the scores, each 1 or whole"},
      {"layout", "bhld", "bhld or blhd: batch, heads, length, depth as tensors have them"},
      kDtype}},
};

[[noreturn]] void fail(std::string what, std::string_view spec, std::string hint) {
  throw Error(ErrorCode::InvalidArgument, std::move(what), "SPEC '" + std::string(spec) + "'", std::move(hint));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The words of one SPEC, checked against the operator's fields.
class Words {
 public:
  Words(std::string_view spec, const SpecOperator& op, std::string_view arguments) : spec_(spec), op_(op) {
    std::string names;
    for (const SpecField& field : op.fields) names += (names.empty() ? "" : ", ") + std::string(field.name);
    while (!trimmed(arguments).empty()) {
      const std::size_t comma = arguments.find(',');
      const std::string_view word = trimmed(arguments.substr(0, comma));
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos || equals == 0 || equals + 1 == word.size()) {
        fail("cannot read '" + std::string(word) + "'", spec, "expected name=value with one of " + names);
      }
      const std::string name(trimmed(word.substr(0, equals)));
      const bool known =
          std::any_of(op.fields.begin(), op.fields.end(), [&](const SpecField& f) { return f.name == name; });
      if (!known) fail("'" + name + "' is not a field of " + std::string(op.name), spec, "expected one of " + names);
      if (!values_.emplace(name, trimmed(word.substr(equals + 1))).second)
        fail("'" + name + "' is given twice", spec, "");
      if (comma == std::string_view::npos) break;
      arguments.remove_prefix(comma + 1);
      if (trimmed(arguments).empty())
        fail("a field is missing behind the last ','", spec, "expected name=value with one of " + names);
    }
    for (const SpecField& field : op.fields) {
      if (field.if_absent.empty() && values_.count(field.name) == 0) {
        fail("'" + std::string(field.name) + "' (" + std::string(field.meaning) + ") is missing", spec,
             "write " + spec_form(op));
      }
    }
  }

  std::string_view text(std::string_view name) const {
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    return field(name).if_absent;
  }

  std::int64_t integer(std::string_view name) const { return integer_of(name, text(name), "a whole number"); }

  std::int64_t size(std::string_view name) const {
    const std::int64_t value = integer(name);
    if (value < 1) bad(name, "a positive whole number");
    // A product of a few such sizes still fits 64 bits; no real tensor has a longer axis.
    if (value > (std::int64_t{1} << 31)) bad(name, "at most 2147483648");
    return value;
  }

  bool flag(std::string_view name) const {
    const std::string_view value = text(name);
    if (value != "0" && value != "1") bad(name, "0 or 1");
    return value == "1";
  }

  double number(std::string_view name, bool may_be_negative = false) const {
    const std::string_view value = text(name);
    double result = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), result);
    const bool is_read = parsed.ec == std::errc{} && parsed.ptr == value.data() + value.size();
    if (!is_read || !std::isfinite(result) || (result < 0 && !may_be_negative))
      bad(name, may_be_negative ? "a finite number" : "a finite number that is not negative");
    return result;
  }

  /// Numbers separated by ':'.
  std::vector<std::int64_t> numbers(std::string_view name, std::int64_t least) const {
    std::vector<std::int64_t> result;
    std::string_view rest = text(name);
    while (true) {
      const std::size_t colon = rest.find(':');
      const std::int64_t value = integer_of(name, rest.substr(0, colon), field(name).meaning);
      if (value < least || value > (std::int64_t{1} << 31)) bad(name, "numbers of at least " + std::to_string(least));
      result.push_back(value);
      if (colon == std::string_view::npos) return result;
      rest.remove_prefix(colon + 1);
    }
  }

  ir::DType dtype() const {
    const std::string_view value = text("dtype");
    if (value != "f32" && value != "f64") bad("dtype", "f32 or f64");
    return ir::parse_dtype(value);
  }

  Constness constness() const {
    const std::string_view value = text("const");
    if (value != "weights" && value != "none") bad("const", "weights or none");
    return value == "none" ? Constness::None : Constness::Weights;
  }

  void layout(Conv2dShape& shape) const {
    const std::string_view value = text("layout");
    if (value == "nhwc") {
      shape.layout = Layout::Nhwc;
    } else if (value == "nchw8c" || value == "nchw16c") {
      shape.layout = value == "nchw8c" ? Layout::Nchw8c : Layout::Nchw16c;
    } else if (value != "nchw") {
      bad("layout", "nchw, nhwc, nchw8c or nchw16c");
    }
  }

  Layout pixel_layout() const {
    const std::string_view value = text("layout");
    if (value != "nchw" && value != "nhwc") bad("layout", "nchw or nhwc");
    return value == "nhwc" ? Layout::Nhwc : Layout::Nchw;
  }

  Epilogue epilogue() const {
    try {
      return parse_epilogue(text("epilogue"));
    } catch (const Error& error) {
      fail("epilogue=" + std::string(text("epilogue")) + ": " + error.message(), spec_, error.hint());
    }
  }

  [[noreturn]] void bad(std::string_view name, std::string_view expected) const {
    fail("cannot read '" + std::string(text(name)) + "' as " + std::string(name), spec_,
         "expected " + std::string(expected));
  }

 private:
  const SpecField& field(std::string_view name) const {
    for (const SpecField& candidate : op_.fields) {
      if (candidate.name == name) return candidate;
    }
    TEMPER_CHECK(false, "a field of the operator");
  }

  std::int64_t integer_of(std::string_view name, std::string_view value, std::string_view expected) const {
    std::int64_t result = 0;
    const auto parsed = std::from_chars(value.data(), value.data() + value.size(), result);
    if (parsed.ec != std::errc{} || parsed.ptr != value.data() + value.size()) bad(name, expected);
    return result;
  }

  std::string_view spec_;
  const SpecOperator& op_;
  std::map<std::string, std::string, std::less<>> values_;
};

Workload build_matmul_spec(const Words& words) {
  MatmulShape shape;
  shape.batch = words.size("batch");
  shape.m = words.size("m");
  shape.n = words.size("n");
  shape.k = words.size("k");
  shape.trans_a = words.flag("trans_a");
  shape.trans_b = words.flag("trans_b");
  shape.dtype = words.dtype();
  return matmul_workload(shape, words.epilogue(), words.constness());
}

/// One number or y:x into a member of both axes.
void read_pair(const Words& words, std::string_view name, std::int64_t least, std::int64_t& y, std::int64_t& x) {
  const std::vector<std::int64_t> values = words.numbers(name, least);
  if (values.size() > 2) words.bad(name, "one number or y:x");
  y = values.front();
  x = values.back();
}

/// What convolutions of both kinds have: sizes, strides and pads.
void read_window(const Words& words, WindowAxis& y, WindowAxis& x) {
  y.input = words.size("h");
  x.input = words.size("w");
  y.kernel = words.size("kh");
  x.kernel = words.size("kw");
  read_pair(words, "stride", 1, y.stride, x.stride);
  const std::vector<std::int64_t> pads = words.numbers("pad", 0);
  if (pads.size() != 1 && pads.size() != 2 && pads.size() != 4)
    words.bad("pad", "one number, y:x or top:left:bottom:right");
  y.pad_begin = pads[0];
  x.pad_begin = pads[pads.size() > 1 ? 1 : 0];
  y.pad_end = pads.size() == 4 ? pads[2] : y.pad_begin;
  x.pad_end = pads.size() == 4 ? pads[3] : x.pad_begin;
}

Workload build_conv2d_spec(const Words& words) {
  Conv2dShape shape;
  shape.n = words.size("n");
  shape.ic = words.size("ic");
  shape.oc = words.size("oc");
  shape.groups = words.size("groups");
  read_window(words, shape.y, shape.x);
  read_pair(words, "dilation", 1, shape.y.dilation, shape.x.dilation);
  words.layout(shape);
  shape.dtype = words.dtype();
  return conv2d_workload(shape, words.epilogue(), words.constness());
}

Workload build_conv1d_spec(const Words& words) {
  Conv2dShape shape;
  shape.n = words.size("n");
  shape.ic = words.size("ic");
  shape.oc = words.size("oc");
  shape.groups = words.size("groups");
  shape.x.input = words.size("w");
  shape.x.kernel = words.size("kw");
  shape.x.stride = words.size("stride");
  shape.x.dilation = words.size("dilation");
  const std::vector<std::int64_t> pads = words.numbers("pad", 0);
  if (pads.size() > 2) words.bad("pad", "one number or left:right");
  shape.x.pad_begin = pads.front();
  shape.x.pad_end = pads.back();
  shape.layout = words.pixel_layout();
  shape.dtype = words.dtype();
  return conv2d_workload(shape, words.epilogue(), words.constness());
}

Workload build_conv_transpose2d_spec(const Words& words) {
  ConvTranspose2dShape shape;
  shape.n = words.size("n");
  shape.ic = words.size("ic");
  shape.oc = words.size("oc");
  shape.groups = words.size("groups");
  read_window(words, shape.y, shape.x);
  read_pair(words, "output_padding", 0, shape.extra_y, shape.extra_x);
  shape.layout = words.pixel_layout();
  shape.dtype = words.dtype();
  return conv_transpose2d_workload(shape, words.epilogue(), words.constness());
}

Workload build_attention_spec(const Words& words) {
  const auto or_else = [&](std::string_view name, std::int64_t otherwise) {
    return words.text(name) == "0" ? otherwise : words.size(name);
  };
  AttentionShape shape;
  shape.batch = words.size("batch");
  shape.heads = words.size("heads");
  shape.key_heads = or_else("key_heads", shape.heads);
  shape.queries = words.size("queries");
  shape.keys = words.size("keys");
  shape.depth = words.size("depth");
  shape.value_depth = or_else("value_depth", shape.depth);
  shape.scale =
      words.text("scale") == "none" ? 1 / std::sqrt(static_cast<double>(shape.depth)) : words.number("scale", true);
  if (words.text("mask") != "none") shape.mask = words.numbers("mask", 1);
  const std::string_view layout = words.text("layout");
  if (layout != "bhld" && layout != "blhd") words.bad("layout", "bhld or blhd");
  shape.heads_inside = layout == "blhd";
  shape.dtype = words.dtype();
  return attention_workload(shape);
}

using Builder = Workload (*)(const Words&);
constexpr Builder kBuilders[] = {
    build_matmul_spec,
    build_conv2d_spec,
    build_conv1d_spec,
    build_conv_transpose2d_spec,
    [](const Words& words) { return softmax_workload(words.size("rows"), words.size("cols"), words.dtype()); },
    [](const Words& words) {
      return layernorm_workload(words.size("rows"), words.size("cols"), words.number("epsilon"), words.dtype(),
                                words.constness());
    },
    build_attention_spec,
};
static_assert(std::size(kBuilders) == std::size(kOperators));

}  // namespace

std::span<const SpecOperator> spec_operators() { return kOperators; }

std::string spec_form(const SpecOperator& op) {
  std::string text = std::string(op.name) + "(";
  for (const SpecField& field : op.fields) {
    if (field.if_absent.empty()) text += (text.back() == '(' ? "" : ",") + std::string(field.name) + "=N";
  }
  return text + ")";
}

Workload parse_spec(std::string_view spec) {
  const std::string_view whole = trimmed(spec);
  const std::size_t open = whole.find('(');
  const std::string_view name = trimmed(whole.substr(0, open));
  std::string known;
  for (std::size_t i = 0; i < std::size(kOperators); ++i) {
    known += (i > 0 ? ", " : "") + std::string(kOperators[i].name);
    if (kOperators[i].name != name) continue;
    if (open == std::string_view::npos)
      fail("'(' is missing behind '" + std::string(name) + "'", spec, "write " + spec_form(kOperators[i]));
    if (whole.back() != ')') fail("the closing ')' is missing", spec, "write " + spec_form(kOperators[i]));
    const Words words(spec, kOperators[i], whole.substr(open + 1, whole.size() - open - 2));
    try {
      return kBuilders[i](words);
    } catch (const Error& error) {
      if (error.where().starts_with("SPEC ")) throw;
      fail(error.message(), spec, error.hint());
    }
  }
  fail("'" + std::string(name) + "' is not a known operator", spec, "expected one of " + known);
}

}  // namespace temper::ops
