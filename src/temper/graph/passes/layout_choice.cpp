#include "temper/graph/passes/layout_choice.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/graph/passes/followers.h"
#include "temper/ops/window.h"

namespace temper::graph {
namespace {

constexpr std::int64_t kLanes = 16;
constexpr double kTransposedByte = 0.8;

/// What a vector operation of each kind costs in NCHW, over one in NHWC.
constexpr double kDense = 1.1, kDenseStrided = 1.2, kPointwise = 1.5, kChannelwise = 1.3, kChannelwiseStrided = 1.8;
/// What one costs in blocks of channels, over one in NHWC.
constexpr double kBlocks = 1.15, kChannelwiseBlocks = 0.85;

std::int64_t vectors(std::int64_t elements) { return (elements + kLanes - 1) / kLanes; }

/// A convolution or pooling: out[image, channel, y, x] = sum or maximum of `terms` products or elements.
struct Windows {
  std::int64_t images = 1, channels = 1, rows = 1, width = 1;
  double terms = 1;
  std::int64_t summed = 0;  ///< channels that an output sums over, where blocks of them are read
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

/// Whole blocks of channels out, of which NHWC wastes as many lanes, and of channels that are summed.
double estimate_blocks(const Windows& w, std::int64_t block) {
  const auto whole = [&](std::int64_t channels) { return (channels + block - 1) / block * block; };
  Windows filled = w;
  filled.channels = whole(w.channels);
  if (w.summed > 0) filled.terms *= static_cast<double>(whole(w.summed)) / static_cast<double>(w.summed);
  return estimate_nhwc(filled) * (w.groups == 0 ? kChannelwiseBlocks : kBlocks);
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
  if (!channelwise && in[1] > kFewChannels) w.summed = in[1] / groups;
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

LayoutEstimate estimate(const Graph& graph, const Chain& chain, std::int64_t block) {
  LayoutEstimate sum{static_cast<double>(chain.transposed_nhwc) * kTransposedByte,
                     static_cast<double>(chain.transposed_nchw) * kTransposedByte,
                     static_cast<double>(chain.transposed_blocks) * kTransposedByte};
  if (!chain.no_blocks.empty()) sum.blocks = std::numeric_limits<double>::infinity();
  for (const int n : chain.nodes) {
    const auto windows = windows_of(graph, graph.nodes[static_cast<std::size_t>(n)]);
    if (!windows) continue;
    sum.nhwc += estimate_nhwc(*windows);
    sum.nchw += estimate_nchw(*windows);
    sum.blocks += estimate_blocks(*windows, block);
  }
  return sum;
}

}  // namespace

double LayoutEstimate::of(ops::Layout layout) const {
  return layout == ops::Layout::Nchw ? nchw : layout == ops::Layout::Nhwc ? nhwc : blocks;
}

std::vector<LayoutChoice> choose_layouts(const Graph& graph, ops::Layout blocks) {
  std::vector<LayoutChoice> choices;
  double all = 0;
  std::vector<std::pair<double, std::size_t>> doubtful;  // estimates and places of chains that may have rivals
  for (Chain& chain : find_chains(graph, blocks)) {
    LayoutChoice choice{std::move(chain), {}, ops::Layout::Nhwc, {}};
    const LayoutEstimate& sum = choice.estimate = estimate(graph, choice.chain, ops::channel_block(blocks));
    const bool nchw_is_clear = sum.nchw * kNchwIsClear < sum.nhwc;
    if (nchw_is_clear) choice.layout = ops::Layout::Nchw;
    if (!nchw_is_clear && sum.nhwc * kNhwcIsClear >= sum.nchw) choice.rivals.push_back(ops::Layout::Nchw);
    const double best = std::min(sum.nhwc, nchw_is_clear ? sum.nchw : sum.nhwc);
    if (sum.blocks * kBlocksAreClear < best) {
      choice.layout = blocks;
    } else if (sum.blocks <= best) {
      choice.rivals.push_back(blocks);
    }
    const double own = sum.of(choice.layout);
    all += own;
    if (!choice.rivals.empty()) doubtful.emplace_back(own, choices.size());
    choices.push_back(std::move(choice));
  }
  std::ranges::stable_sort(doubtful, std::greater(), &std::pair<double, std::size_t>::first);
  for (std::size_t i = 0; i < doubtful.size(); ++i) {
    const auto& [own, place] = doubtful[i];
    if (i >= kMostRivals || own < kTrifle * all) choices[place].rivals.clear();
  }
  return choices;
}

Layouts chosen_layouts(const std::vector<LayoutChoice>& choices) {
  Layouts layouts;
  for (const LayoutChoice& choice : choices) layouts.push_back(choice.layout);
  return layouts;
}

void assign_estimated_layouts(Graph& graph) { assign_layouts(graph, chosen_layouts(choose_layouts(graph))); }

}  // namespace temper::graph
