#include "temper/graph/pipeline.h"

#include <algorithm>
#include <array>
#include <utility>

#include "temper/graph/passes/attention.h"
#include "temper/graph/passes/dead_code.h"
#include "temper/graph/passes/fold_affine.h"
#include "temper/graph/passes/identities.h"
#include "temper/graph/passes/infer.h"
#include "temper/graph/passes/layout_choice.h"
#include "temper/graph/passes/lift_rank.h"
#include "temper/graph/passes/patterns.h"
#include "temper/graph/passes/split_gemm.h"
#include "temper/graph/passes/squeeze_excite.h"
#include "temper/graph/passes/transposed_conv.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

constexpr std::array kPasses{
    Pass{"infer", "types of all values; what depends on constants alone is computed", infer, true},
    Pass{"identities", "nodes that return their input are removed", remove_identities, false},
    Pass{"patterns", "hard-swish, hard-sigmoid, gelu and layer norm written as several nodes", recognise_patterns,
         false},
    Pass{"attention", "attention written as several nodes, transposes of its heads included", recognise_attention,
         false},
    Pass{"affine", "batch norm, scales and shifts folded into convolution weights", fold_affine, false},
    Pass{"excite", "squeeze-excite: sums of a value and its scale as one product, means before pointwise convolutions",
         simplify_squeeze_excite, false},
    Pass{"rank", "operators over one spatial axis as operators over two", lift_rank, false},
    Pass{"transposed", "transposed convolutions as dense ones whose channels become pixels",
         lower_transposed_convolutions, false},
    Pass{"gemm", "Gemm split into a matrix product and an addition", split_gemm, false},
    Pass{"layout", "NHWC, NCHW or blocks for each chain of convolutions, transposes at their borders",
         assign_estimated_layouts, false},
    Pass{"fusion", "elementwise nodes run with the node before them", nullptr, false},
    Pass{"parts", "what is concatenated is computed in its place, what is split is read there", nullptr, false},
};

constexpr auto kLayout = std::ranges::find(kPasses, std::string_view("layout"), &Pass::name);
static_assert(kLayout != kPasses.end());

void check_names(const std::set<std::string>& disabled) {
  for (const std::string& name : disabled) {
    const auto pass = std::find_if(kPasses.begin(), kPasses.end(), [&](const Pass& p) { return p.name == name; });
    std::string known;
    for (const Pass& p : kPasses) {
      if (!p.required) known += (known.empty() ? "" : ", ") + std::string(p.name);
    }
    if (pass == kPasses.end() || pass->required) {
      throw Error(ErrorCode::InvalidArgument,
                  pass == kPasses.end() ? "there is no graph pass called '" + name + "'"
                                        : "the graph pass '" + name + "' cannot be disabled",
                  "--disable-pass " + name, "these can: " + known);
    }
  }
}

void run(Graph& graph, std::span<const Pass> passes, const std::set<std::string>& disabled) {
  for (const Pass& pass : passes) {
    if (pass.run == nullptr || disabled.contains(std::string(pass.name))) continue;
    pass.run(graph);
    verify(graph);
  }
}

Program extract(Graph graph, const std::set<std::string>& disabled) {
  return extract_tasks(std::move(graph), !disabled.contains("fusion"), !disabled.contains("parts"));
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

Graph optimise_before_layouts(Graph graph, const ShapeFixes& fixes, const std::set<std::string>& disabled) {
  check_names(disabled);
  fix_shapes(graph, fixes);
  remove_dead_code(graph);
  run(graph, {kPasses.begin(), kLayout}, disabled);
  return graph;
}

Graph optimise(Graph graph, const ShapeFixes& fixes, const std::set<std::string>& disabled) {
  Graph optimised = optimise_before_layouts(std::move(graph), fixes, disabled);
  run(optimised, {kLayout, kPasses.end()}, disabled);
  return optimised;
}

Program make_program(Graph graph, const ShapeFixes& fixes, const std::set<std::string>& disabled) {
  return extract(optimise(std::move(graph), fixes, disabled), disabled);
}

Program program_with_layouts(Graph graph, const Layouts& layouts, const std::set<std::string>& disabled) {
  check_names(disabled);
  if (!disabled.contains(std::string(kLayout->name))) {
    assign_layouts(graph, layouts);
    verify(graph);
  }
  run(graph, {kLayout + 1, kPasses.end()}, disabled);
  return extract(std::move(graph), disabled);
}

}  // namespace temper::graph
