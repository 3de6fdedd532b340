// What of ONNX a model may use, as text: generated from the tables that the importer itself asks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace temper::graph {

struct ListedOperator {
  std::string_view name;
  std::string_view kind;  ///< "elementwise", "contraction", "reduction", "movement", "view", "import"
  int first_opset = 0;    ///< 0: every operator set that is imported
  std::string_view summary;
};
/// Every supported operator of the default domain, sorted by name.
std::vector<ListedOperator> listed_operators();

/// Operators of the default domain that the importer refuses, and why.
struct RefusedOperators {
  std::string_view reason;
  std::vector<std::string_view> names;  ///< sorted
};
std::span<const RefusedOperators> refused_operators();

/// docs/operators.md
std::string operators_document();

}  // namespace temper::graph
