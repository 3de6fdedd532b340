#include "temper/space/tile_template.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "temper/analysis/affine.h"
#include "temper/space/tile_knobs.h"
#include "temper/space/tile_packing.h"
#include "temper/space/tile_stream.h"

namespace temper::space {

using schedule::Loop;
using schedule::Schedule;
using schedule::Scope;
using schedule::Tail;

namespace {

using TileLoops = std::vector<TileLoop>;

TileLoops joined(std::initializer_list<TileLoops> groups) {
  TileLoops out;
  for (const TileLoops& group : groups) out.insert(out.end(), group.begin(), group.end());
  return out;
}

void append(std::vector<Loop>& to, const std::vector<Loop>& from) { to.insert(to.end(), from.begin(), from.end()); }

std::vector<Loop> loops_of(const TileLoops& tiles) {
  std::vector<Loop> out;
  for (const TileLoop& tile : tiles) out.push_back(tile.loop);
  return out;
}

/// Schedules one candidate of a plan.
class Tiling {
 public:
  Tiling(Schedule& s, const target::Target& target, const SingleReduction& r, const TilePlan& plan,
         const TileAxes& axes, const TileChoice& choice)
      : s_(s), target_(target), r_(r), plan_(plan), axes_(axes), choice_(choice) {}

  void schedule() {
    for (const std::string& stage : r_.elementwise) s_.compute_inline(stage);
    out_ = r_.output->name;
    local_ = r_.reduction == r_.output ? s_.cache_write(out_) : r_.reduction->name;
    if (plan_.packed >= 0 && choice_.packing != TilePacking::AsItIs) pack_operand();
    place_tiles();
    if (choice_.holds_inputs) hold_inputs();
    reduce();
  }

 private:
  /// The loops of the output: outer ones in parallel, those that follow one another in each iteration of them, and the
  /// tile.
  struct Nest {
    TileLoops outer, serial;
    std::vector<Loop> second, rows, vectors;  ///< of the tile; vectors with lanes where these are along them
  };

  const Operand& packed() const { return r_.operands[static_cast<std::size_t>(plan_.packed)]; }
  std::int64_t extent(int axis) const { return extent_of(r_, axis); }
  /// Whether vectors of the reduction lie across the output's last axis: rows become lanes when a tile is stored.
  bool is_turned() const { return plan_.vector_axis + 1 != static_cast<int>(r_.rank()) && choice_.width() > 1; }
  /// Elements of a block of the packed operand.
  std::int64_t block_width() const { return plan_.block_axis == plan_.vector_axis ? choice_.width() : choice_.rows; }

  /// Whether the loop over the last window, where there is one, stands outside of all channels.
  bool window_outside() const { return choice_.kw == WindowLoop::UnrolledOutside || axes_.channels.empty(); }

  void pack_operand() {
    const bool by_panel = choice_.packing == TilePacking::Panels;
    Packing packing{plan_.block_axis, block_width(), {}, by_panel};
    if (by_panel && !vectors_outermost(choice_.order)) packing.width = extent(plan_.vector_axis);
    packing.reduce_order = axes_.windows;
    const auto channels_at = packing.reduce_order.end() - (window_outside() || axes_.windows.empty() ? 0 : 1);
    packing.reduce_order.insert(channels_at, axes_.channels.begin(), axes_.channels.end());
    const std::string copy = pack(s_, target_, packed(), local_, packing);
    if (by_panel) panel_ = copy;
    if (packed().stage->constant) packed_once_ = copy;
  }

  /// Splits the axes of the output and puts the loops over tiles in the order that was chosen.
  Nest split_axes() {
    const std::vector<Loop> axes = s_.loops(out_);
    Nest nest;
    TileLoops blocks, rows, second;
    if (plan_.row_axis >= 0) {
      Loop row = axes[static_cast<std::size_t>(plan_.row_axis)];
      std::int64_t elements = extent(plan_.row_axis);
      if (choice_.block > 0) {
        const std::vector<Loop> parts = s_.split(row, {choice_.block}, Tail::Peel);
        blocks.push_back({parts[0], plan_.row_axis, analysis::ceil_div(elements, choice_.block)});
        row = parts[1];
        elements = choice_.block;
      }
      const std::vector<Loop> parts = s_.split(row, {choice_.rows}, choice_.balances_rows ? Tail::Balance : Tail::Peel);
      rows.push_back({parts[0], plan_.row_axis, analysis::ceil_div(elements, choice_.rows)});
      nest.rows.push_back(parts[1]);
    }
    if (plan_.second_axis >= 0) {
      Loop loop = axes[static_cast<std::size_t>(plan_.second_axis)];
      if (choice_.second > 1) {
        const std::vector<Loop> parts = s_.split(loop, {choice_.second}, Tail::Peel);
        loop = parts[0];
        nest.second.push_back(parts[1]);
      }
      second.push_back({loop, plan_.second_axis, analysis::ceil_div(extent(plan_.second_axis), choice_.second)});
    }
    const Loop along = axes[static_cast<std::size_t>(plan_.vector_axis)];
    std::vector<Loop> parts = is_turned() ? s_.split(along, {choice_.width()}, Tail::Peel)
                                          : s_.split(along, {choice_.vectors, choice_.vector}, Tail::Mask);
    const TileLoops vectors{
        {parts[0], plan_.vector_axis, analysis::ceil_div(extent(plan_.vector_axis), choice_.width())}};
    nest.vectors.assign(parts.begin() + 1, parts.end());

    TileLoops others;
    for (const int axis : axes_.others) others.push_back({axes[static_cast<std::size_t>(axis)], axis, extent(axis)});
    // The rows of a block follow one another.
    TileLoops row_loops = rows;
    if (choice_.block > 0) {
      nest.serial = rows;
      row_loops = blocks;
    }
    switch (choice_.order) {
      case TileOrder::VectorsSecondRows: nest.outer = joined({others, vectors, second, row_loops}); break;
      case TileOrder::SecondRowsVectors: nest.outer = joined({others, second, row_loops, vectors}); break;
      case TileOrder::SecondVectorsRows: nest.outer = joined({others, second, vectors, row_loops}); break;
      case TileOrder::RowsSecondVectors: nest.outer = joined({others, row_loops, second, vectors}); break;
      case TileOrder::VectorsRowsSecond: nest.outer = joined({others, vectors, row_loops, second}); break;
      case TileOrder::VectorsRoundAll: nest.outer = joined({vectors, others, second, row_loops}); break;
    }
    if (!panel_.empty()) {
      // What shares a panel follows it.
      const auto sharing = nest.outer.begin() + std::ssize(others) + (vectors_outermost(choice_.order) ? 1 : 0);
      nest.serial.insert(nest.serial.begin(), sharing, nest.outer.end());
      nest.outer.erase(sharing, nest.outer.end());
    }
    return nest;
  }

  void place_tiles() {
    Nest nest = split_axes();
    std::vector<Loop> unrolled = nest.second, lanes;
    if (is_turned()) {
      const std::vector<Loop> turned_rows = s_.split(nest.rows[0], {choice_.vector}, Tail::Mask);
      append(unrolled, {nest.vectors[0], turned_rows[0]});
      lanes.push_back(turned_rows[1]);
    } else {
      append(unrolled, nest.rows);
      unrolled.push_back(nest.vectors[0]);
      lanes.push_back(nest.vectors[1]);
    }
    tiles_ = joined({nest.outer, nest.serial});
    std::vector<Loop> all = loops_of(tiles_);
    append(all, unrolled);
    append(all, lanes);
    s_.reorder(all);
    const Loop fused = s_.fuse(loops_of(nest.outer));
    s_.vectorize(lanes[0]);
    for (const Loop& loop : unrolled) s_.unroll(loop);
    s_.parallel(fused);
    tile_loop_ = nest.serial.empty() ? fused : nest.serial.back().loop;
    s_.compute_at(local_, tile_loop_);
    s_.set_scope(local_, Scope::Register);
    if (!panel_.empty()) s_.compute_at(panel_, fused);
  }

  /// What a tile reads of the held operand comes into registers once.
  void hold_inputs() {
    const std::string held = s_.cache_read(r_.operands[static_cast<std::size_t>(plan_.held)].stage->name, local_);
    s_.compute_at(held, tile_loop_);
    s_.set_scope(held, Scope::Register);
    const std::vector<Loop> places = s_.loops(held);
    const std::vector<Loop> parts = s_.split(places.back(), {target_.vector_bytes / 4}, Tail::Mask);
    for (std::size_t i = 0; i + 1 < places.size(); ++i) s_.unroll(places[i]);
    s_.unroll(parts[0]);
    s_.vectorize(parts[1]);
  }

  std::optional<Stream> packed_stream() const {
    if (packed_once_.empty() || axes_.channels.empty()) return std::nullopt;
    const std::int64_t taps =
        window_outside() || axes_.windows.empty() ? 1 : extent(static_cast<int>(axes_.windows.back()));
    const BlockedCopy copy{packed_once_, plan_.block_axis, block_width(), choice_.unroll * taps};
    return stream_of(r_, packed(), copy, tiles_, target_);
  }

  /// The reduction, over the tile.
  void reduce() {
    const std::optional<Stream> stream = packed_stream();
    const std::vector<Loop> axes = s_.loops(local_);
    const bool padded =
        !packed_once_.empty() && choice_.packing == TilePacking::Whole && plan_.block_axis == plan_.vector_axis;
    const std::vector<Loop> vectors = s_.split(axes[static_cast<std::size_t>(plan_.vector_axis)], {choice_.vector},
                                               padded ? Tail::RoundUp : Tail::Mask);
    std::vector<Loop> nest, unrolled;
    for (const std::size_t axis : axes_.unit_reduce) nest.push_back(axes[axis]);
    for (std::size_t i = 0; i + 1 < axes_.windows.size(); ++i) {
      nest.push_back(axes[axes_.windows[i]]);
      if (choice_.unrolls_outer_windows) unrolled.push_back(axes[axes_.windows[i]]);
    }
    const auto add_last_window = [&] {
      if (axes_.windows.empty()) return;
      nest.push_back(axes[axes_.windows.back()]);
      if (choice_.kw != WindowLoop::Loop) unrolled.push_back(axes[axes_.windows.back()]);
    };
    if (window_outside()) add_last_window();
    Loop request_loop{};
    std::int64_t steps = 1;  // of the innermost channels, in an iteration of it
    std::vector<Loop> innermost;
    if (!axes_.channels.empty()) {
      for (std::size_t i = 0; i + 1 < axes_.channels.size(); ++i) nest.push_back(axes[axes_.channels[i]]);
      if (stream) steps = steps_per_request(*stream, extent(static_cast<int>(axes_.channels.back())) / choice_.unroll);
      std::vector<std::int64_t> factors;
      if (steps > 1) factors.push_back(steps);
      if (choice_.unroll > 1) factors.push_back(choice_.unroll);
      std::vector<Loop> parts{axes[axes_.channels.back()]};
      if (!factors.empty()) parts = s_.split(parts[0], factors, Tail::Peel);
      request_loop = parts.front();
      if (choice_.unroll > 1) {
        innermost.push_back(parts.back());
        unrolled.push_back(parts.back());
        parts.pop_back();
      }
      append(nest, parts);
    }
    if (!window_outside()) add_last_window();
    append(nest, innermost);
    for (std::size_t axis = 0; axis < r_.rank(); ++axis) {
      if (static_cast<int>(axis) == plan_.vector_axis) continue;
      nest.push_back(axes[axis]);
      unrolled.push_back(axes[axis]);
    }
    append(nest, vectors);
    unrolled.push_back(vectors[0]);
    s_.reorder(nest);
    s_.vectorize(vectors[1]);
    for (const Loop& loop : unrolled) s_.unroll(loop);
    if (stream) prefetch_next_block(s_, *stream, request_loop, steps);
  }

  Schedule& s_;
  const target::Target& target_;
  const SingleReduction& r_;
  const TilePlan& plan_;
  const TileAxes& axes_;
  const TileChoice& choice_;
  std::string out_, local_;          ///< the output, and the stage that reduces in registers
  std::string panel_, packed_once_;  ///< the packed copy: of panels; of a constant
  TileLoops tiles_;                  ///< the loops over tiles
  Loop tile_loop_{};                 ///< an iteration of which is a tile
};

}  // namespace

void apply_tile(Schedule& s, Knobs& knobs, const target::Target& target, const SingleReduction& r,
                const TilePlan& plan) {
  const TileAxes axes = tile_axes(r, plan);
  const TileChoice choice = choose_tile(knobs, target, r, plan, axes);
  if (!knobs.declaring()) Tiling(s, target, r, plan, axes, choice).schedule();
}

}  // namespace temper::space
