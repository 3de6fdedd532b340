#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "temper/app/session.h"
#include "temper/graph/operator_list.h"

namespace temper::app {

namespace {

nlohmann::json list_operators(Session& s, bool markdown) {
  nlohmann::json supported = nlohmann::json::array(), refused = nlohmann::json::array();
  for (const graph::ListedOperator& op : graph::listed_operators()) {
    supported.push_back(
        {{"name", op.name}, {"kind", op.kind}, {"first_opset", op.first_opset}, {"summary", op.summary}});
    if (!markdown) s.print(fmt::format("{:<28} {:<12} {}\n", op.name, op.kind, op.summary));
  }
  for (const graph::RefusedOperators& group : graph::refused_operators())
    refused.push_back({{"reason", group.reason}, {"names", group.names}});
  if (markdown) s.print(graph::operators_document());
  return {{"supported", std::move(supported)}, {"refused", std::move(refused)}};
}

}  // namespace

void declare_operators(CLI::App& command, Session& session) {
  auto markdown = std::make_shared<bool>(false);
  command.add_flag("--markdown", *markdown, "As docs/operators.md");
  command.callback(
      [markdown, &session] { session.action = [markdown](Session& s) { return list_operators(s, *markdown); }; });
}

}  // namespace temper::app
