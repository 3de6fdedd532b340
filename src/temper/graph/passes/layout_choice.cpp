#include "temper/graph/passes/layout_choice.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/ops/window.h"

namespace temper::graph {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr double kTransposedByte = 0.8;

/// What a vector operation of each kind costs in NCHW, over one in NHWC.
constexpr double kDense = 1.1, kDenseStrided = 1.2, kPointwise = 1.5, kChannelwise = 1.3, kChannelwiseStrided = 1.8;

std::int64_t vectors(std::int64_t elements) { return (elements + kLanes - 1) / kLanes; }

/// A convolution or pooling: out[image, channel, y, x] = sum or maximum of `terms` products or elements.
struct Windows {
  std::int64_t images = 1, channels = 1, rows = 1, width = 1;
  double terms = 1;
  std::int64_t groups = 1;  ///< each has channels / groups of its own; 0: each channel is one
  bool strided = false;     ///< neighbouring outputs of a row read elements that are no neighbours
  bool pointwise = false;   ///< a kernel of one pixel
  bool single_row = false;  ///< all rows of an image are one
};

double estimate_nhwc(const Windows& w) {
  const std::int64_t pixels = w.images * w.rows * w.width;
  const std::int64_t each = w.groups == 0 ? vectors(w.channels) : w.groups * vectors(w.channels / w.groups);
  return static_cast<double>(pixels * each) * w.terms;
}

double estimate_nchw(const Windows& w) {
  const std::int64_t each = w.single_row ? vectors(w.rows * w.width) : w.rows * vectors(w.width);
  const double over_pixels = static_cast<double>(w.images * w.channels * each) * w.terms;
  if (w.groups == 0) return over_pixels * (w.strided ? kChannelwiseStrided : kChannelwise);
  const double factor = w.pointwise ? kPointwise : w.strided ? kDenseStrided : kDense;
  return std::min(over_pixels, estimate_nhwc(w)) * factor;
}

Windows convolution(const Graph& graph, const Node& node) {
  const bool transposed = node.op == "ConvTranspose";
  const Sizes in = graph.sizes(node.inputs[0]), weights = graph.sizes(node.inputs[1]),
              out = graph.sizes(node.outputs[0]);
  const std::int64_t groups = node.attributes.integer("group", 1);
  const std::vector<std::int64_t> strides = node.attributes.integers("strides", {1, 1});
  const std::int64_t taps = weights[2] * weights[3], terms = in[1] / groups * taps;
  Windows w;
  w.images = out[0];
  w.channels = out[1];
  w.rows = out[2];
  w.width = out[3];
  w.terms = static_cast<double>(terms);
  if (transposed) w.terms /= static_cast<double>(strides[0] * strides[1]);  // a tap in so many meets an input
  const bool channelwise = groups == in[1] && groups > 1;
  w.groups = channelwise ? 0 : groups;
  w.strided = strides[1] > 1;
  w.pointwise = taps == 1;
  w.single_row = taps == 1 && strides[0] == 1 && strides[1] == 1 && in[2] == out[2] && in[3] == out[3];
  return w;
}

Windows pooling(const Graph& graph, const Node& node) {
  const Sizes in = graph.sizes(node.inputs[0]), out = graph.sizes(node.outputs[0]);
  Windows w;
  w.images = in[0];
  w.channels = in[1];
  w.groups = 0;
  if (node.op.starts_with("Global")) {  // each element of the input once
    w.rows = in[2];
    w.width = in[3];
    w.single_row = true;
    return w;
  }
  const std::vector<ops::WindowAxis> axes = ops::window_axes(bind_placeholders(graph, node), in);
  w.rows = out[2];
  w.width = out[3];
  w.terms = static_cast<double>(axes[0].kernel * axes[1].kernel);
  w.strided = axes[1].stride > 1;
  return w;
}

std::optional<Windows> windows_of(const Graph& graph, const Node& node) {
  if (node.op == "Conv" || node.op == "ConvTranspose") return convolution(graph, node);
  if (node.op.ends_with("Pool")) return pooling(graph, node);
  return std::nullopt;
}

LayoutEstimate estimate(const Graph& graph, const Chain& chain) {
  LayoutEstimate sum{static_cast<double>(chain.transposed_nhwc) * kTransposedByte,
                     static_cast<double>(chain.transposed_nchw) * kTransposedByte};
  for (const int n : chain.nodes) {
    const auto windows = windows_of(graph, graph.nodes[static_cast<std::size_t>(n)]);
    if (!windows) continue;
    sum.nhwc += estimate_nhwc(*windows);
    sum.nchw += estimate_nchw(*windows);
  }
  return sum;
}

}  // namespace

std::vector<LayoutChoice> choose_layouts(const Graph& graph) {
  std::vector<LayoutChoice> choices;
  double all = 0;
  std::vector<std::pair<double, std::size_t>> doubtful;  // estimates and places of possible rivals
  for (Chain& chain : find_chains(graph)) {
    const LayoutEstimate sum = estimate(graph, chain);
    const bool nchw_is_clear = sum.nchw * kNchwIsClear < sum.nhwc;
    const bool nhwc_is_clear = sum.nhwc * kNhwcIsClear < sum.nchw;
    const double own = nchw_is_clear ? sum.nchw : sum.nhwc;
    all += own;
    if (!nchw_is_clear && !nhwc_is_clear) doubtful.emplace_back(own, choices.size());
    choices.push_back({std::move(chain), sum, nchw_is_clear ? ops::Layout::Nchw : ops::Layout::Nhwc, false});
  }
  std::ranges::stable_sort(doubtful, std::greater(), &std::pair<double, std::size_t>::first);
  if (doubtful.size() > kMostRivals) doubtful.resize(kMostRivals);
  for (const auto& [own, place] : doubtful) choices[place].rival = own >= kTrifle * all;
  return choices;
}

Layouts chosen_layouts(const std::vector<LayoutChoice>& choices) {
  Layouts layouts;
  for (const LayoutChoice& choice : choices) layouts.push_back(choice.layout);
  return layouts;
}

void assign_estimated_layouts(Graph& graph) { assign_layouts(graph, chosen_layouts(choose_layouts(graph))); }

}  // namespace temper::graph
