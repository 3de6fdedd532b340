#include "temper/graph/passes/fix_shapes.h"

#include <charconv>
#include <utility>

#include "temper/support/error.h"

namespace temper::graph {
namespace {

constexpr const char* kExpected = "write it as --shape NAME=1,3,224,224";

std::string list_inputs(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.inputs) {
    text += (text.empty() ? "" : ", ") + graph.value(id).name + to_string(*graph.value(id).shape);
  }
  return text;
}

void apply(const Graph& graph, const std::string& name, const Sizes& sizes, SymbolicShape& shape,
           std::map<std::string, std::int64_t>& symbols) {
  const std::string where = "--shape " + name;
  if (sizes.size() != shape.size()) {
    throw Error(ErrorCode::InvalidArgument,
                "input '" + name + "' has " + std::to_string(shape.size()) + " dimensions, " +
                    std::to_string(sizes.size()) + " were given",
                where, "the model declares " + list_inputs(graph));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1) {
      throw Error(ErrorCode::InvalidArgument, "a dimension of size " + std::to_string(sizes[i]), where,
                  "sizes are at least 1");
    }
    if (shape[i].size && *shape[i].size != sizes[i]) {
      throw Error(ErrorCode::InvalidArgument,
                  "dimension " + std::to_string(i) + " of input '" + name + "' is " + std::to_string(*shape[i].size) +
                      " in the model, " + std::to_string(sizes[i]) + " was given",
                  where, "the model declares " + list_inputs(graph));
    }
    if (!shape[i].symbol.empty()) {
      // A symbol with two sizes ('?' of some exporters) says nothing about other inputs.
      const auto [entry, is_new] = symbols.try_emplace(shape[i].symbol, sizes[i]);
      if (!is_new && entry->second != sizes[i]) entry->second = 0;
    }
    shape[i] = Dimension{sizes[i], {}};
  }
  element_count(sizes, where);
}

}  // namespace

std::pair<std::string, Sizes> parse_shape_fix(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorCode::InvalidArgument, "'" + text + "' names no input", "--shape " + text, kExpected);
  }
  Sizes sizes;
  std::size_t begin = equals + 1;
  while (true) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, comma - begin);
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
    if (error != std::errc() || end != word.data() + word.size() || size < 1) {
      throw Error(ErrorCode::InvalidArgument, "'" + word + "' is not a size: a whole number of at least 1",
                  "--shape " + text, kExpected);
    }
    sizes.push_back(size);
    if (comma == text.size()) break;
    begin = comma + 1;
  }
  return {text.substr(0, equals), std::move(sizes)};
}

void fix_shapes(Graph& graph, const ShapeFixes& fixes) {
  std::map<std::string, std::int64_t> symbols;  // 0: given several sizes
  for (const auto& [name, sizes] : fixes) {
    bool found = false;
    for (const ValueId id : graph.inputs) {
      if (graph.value(id).name != name) continue;
      apply(graph, name, sizes, *graph.value(id).shape, symbols);
      found = true;
    }
    if (!found) {
      throw Error(ErrorCode::InvalidArgument, "the model has no input called '" + name + "'", "--shape " + name,
                  "its inputs are " + list_inputs(graph));
    }
  }
  std::string open;
  for (const ValueId id : graph.inputs) {
    for (Dimension& d : *graph.value(id).shape) {
      const auto symbol = symbols.find(d.symbol);
      if (!d.size && symbol != symbols.end() && symbol->second > 0) d = Dimension{symbol->second, {}};
    }
    if (!graph.has_known_shape(id))
      open += (open.empty() ? "" : ", ") + graph.value(id).name + to_string(*graph.value(id).shape);
  }
  if (!open.empty()) {
    throw Error(ErrorCode::InvalidArgument, "the shape of these inputs is not fixed: " + open,
                "model '" + graph.name + "'", "give each one, for example --shape NAME=1,3,224,224");
  }
}

}  // namespace temper::graph
