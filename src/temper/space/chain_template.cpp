#include "temper/space/chain_template.h"

#include <algorithm>

#include "temper/space/knob_values.h"

namespace temper::space {

using schedule::Loop;
using schedule::Schedule;
using schedule::Scope;
using schedule::Tail;

namespace {

/// A register tile of one of the two products.
struct Tile {
  std::int64_t vectors = 1, rows = 1, unroll = 1, order = 0;
};

constexpr std::int64_t kMostLanes = 64;  ///< of a vector of the loop program

/// The largest tile that the registers hold with as many rows as `vectors` leave room for.
std::int64_t rows_beside(std::int64_t vectors, std::int64_t registers) {
  return std::max<std::int64_t>((registers - vectors - 1) / vectors, 1);
}

class ChainSchedule {
 public:
  ChainSchedule(Schedule& s, const ProductChain& chain) : s_(s), chain_(chain), rank_(chain.first->axes.size()) {}

  std::int64_t vector = 1, block = 1, row_vectors = 1, row_lanes = 1, pack_values = 0;
  bool join = false;  ///< the scores are computed where their first reduction reads them
  Tail tail = Tail::Balance;
  Tile score, value;

  void apply() {
    schedule_output();
    schedule_second();
    schedule_rows();
    schedule_scores();
    turn_queries();
    if (pack_values == 1) copy_values();
  }

 private:
  std::size_t row_axis() const { return rank_ - 2; }
  std::size_t column_axis() const { return rank_ - 1; }

  /// Keeps the elements of a block that are read with lanes along the queries: the query innermost.
  void store_turned(const std::string& stage) {
    std::vector<schedule::LayoutDim> layout;
    for (std::size_t a = 0; a < row_axis(); ++a) layout.push_back({static_cast<int>(a), 1, 0, 0});
    layout.push_back({static_cast<int>(column_axis()), 1, 0, 0});
    layout.push_back({static_cast<int>(row_axis()), 1, 0, 0});
    s_.set_layout(stage, layout);
  }

  /// The tile's loops of one side: rows in blocks, the vector axis in vectors of which some are unrolled.
  struct TileLoops {
    Loop row_outer, row, vector_outer, vectors, lanes;
  };
  TileLoops cut(const Loop& rows, const Loop& vectors, const Tile& tile) {
    const std::vector<Loop> r = s_.split(rows, {tile.rows}, tail);
    const std::vector<Loop> v = s_.split(vectors, {tile.vectors, vector}, Tail::Mask);
    return {r[0], r[1], v[0], v[1], v[2]};
  }
  /// Orders a tile's loops behind `outside` and returns the innermost loop around the tile.
  Loop nest(std::vector<Loop> outside, const TileLoops& t, const Tile& tile) {
    const Loop inner = tile.order == 0 ? t.vector_outer : t.row_outer;
    outside.insert(outside.end(), {tile.order == 0 ? t.row_outer : t.vector_outer, inner, t.row, t.vectors, t.lanes});
    s_.reorder(outside);
    s_.vectorize(t.lanes);
    s_.unroll(t.vectors);
    s_.unroll(t.row);
    return inner;
  }

  /// The product of a tile in registers, at `loop` of the stage that stores it.
  void reduce_tile(const std::string& product, Loop loop, std::size_t vector_axis, const Tile& tile) {
    s_.compute_at(product, loop);
    s_.set_scope(product, Scope::Register);
    const std::vector<Loop> loops = s_.loops(product);
    std::vector<Loop> order, unrolled;
    if (tile.unroll > 1) {
      const std::vector<Loop> parts = s_.split(loops.back(), {tile.unroll}, Tail::Peel);
      order = parts;
      unrolled.push_back(parts[1]);
    } else {
      order.push_back(loops.back());
    }
    for (std::size_t a = 0; a < rank_; ++a) {
      if (a == vector_axis) continue;
      order.push_back(loops[a]);
      unrolled.push_back(loops[a]);
    }
    const std::vector<Loop> parts = s_.split(loops[vector_axis], {vector}, Tail::Mask);
    order.insert(order.end(), parts.begin(), parts.end());
    s_.reorder(order);
    s_.vectorize(parts[1]);
    unrolled.push_back(parts[0]);
    for (const Loop& l : unrolled) s_.unroll(l);
  }

  void schedule_output() {
    const std::string out = chain_.output->name;
    const std::vector<Loop> axes = s_.loops(out);
    const auto axis = [&](std::size_t a) { return axes[static_cast<std::size_t>(chain_.output_axes[a])]; };
    const std::vector<Loop> blocks = s_.split(axis(row_axis()), {block}, Tail::Peel);
    std::vector<Loop> outer;
    for (std::size_t a = 0; a < row_axis(); ++a) outer.push_back(axis(a));
    outer.push_back(blocks[0]);
    const TileLoops tile = cut(blocks[1], axis(column_axis()), value);
    value_tile_ = nest(outer, tile, value);
    block_ = s_.fuse(outer);
    s_.parallel(block_);
  }

  void schedule_second() { reduce_tile(chain_.second->name, value_tile_, column_axis(), value); }

  /// Row stages live in memory for the block; their reductions run over all keys with vectors of queries.
  void schedule_rows() {
    for (const std::string& stage : chain_.rows) {
      const bool reduces = s_[s_.stage(stage)].definition->is_reduction();
      const std::string local = reduces ? s_.cache_write(stage) : std::string();
      s_.compute_at(stage, block_);
      const bool joined = join && stage == chain_.scorer;
      const std::int64_t lanes = joined ? vector : row_lanes;
      const std::int64_t vectors = joined ? score.vectors : row_vectors * vector / row_lanes;
      const std::vector<Loop> loops = s_.loops(stage);
      const std::vector<Loop> parts = s_.split(loops.back(), {vectors, lanes}, Tail::Mask);
      s_.vectorize(parts[2]);
      s_.unroll(parts[1]);
      if (!reduces) continue;
      s_.compute_at(local, parts[0]);
      s_.set_scope(local, Scope::Register);
      const Loop columns = lanes_of_queries(local, true, lanes, joined ? score.rows : 1);
      if (joined) scores_at_ = columns;
      if (stage != chain_.sharer) continue;
      s_.compute_at(chain_.weights->name, columns);
      s_.store_at(chain_.weights->name, block_);
      lanes_of_queries(chain_.weights->name, false, row_lanes, 1);
    }
    const std::string weights = chain_.weights->name;
    if (chain_.sharer.empty()) {
      s_.compute_at(weights, block_);
      lanes_of_queries(weights, false, row_lanes, 1);
    }
    store_turned(weights);
  }

  /// Columns outside, `together` of them at once, queries in vectors; returns the loop of the columns.
  Loop lanes_of_queries(const std::string& stage, bool reduces, std::int64_t lanes, std::int64_t together) {
    const std::vector<Loop> loops = s_.loops(stage);
    std::vector<Loop> order{loops.back()};
    if (together > 1) {
      order = s_.split(loops.back(), {together}, tail);
      s_.unroll(order[1]);
    }
    const Loop columns = order[0];
    const std::size_t rows = loops.size() - 2;
    for (std::size_t a = 0; a < rows; ++a) order.push_back(loops[a]);
    const std::vector<Loop> parts = s_.split(loops[rows], {lanes}, Tail::Mask);
    order.insert(order.end(), parts.begin(), parts.end());
    s_.reorder(order);
    s_.vectorize(parts[1]);
    if (reduces || stage == chain_.weights->name) s_.unroll(parts[0]);
    for (std::size_t a = 0; a < rows; ++a) s_.unroll(loops[a]);
    return columns;
  }

  void schedule_scores() {
    const std::string scores = chain_.scores->name;
    s_.compute_at(scores, join ? scores_at_ : block_);
    if (join) s_.store_at(scores, block_);
    const std::vector<Loop> loops = s_.loops(scores);
    const TileLoops tile = cut(loops[column_axis()], loops[row_axis()], score);
    const std::vector<Loop> outer(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(row_axis()));
    const Loop at = nest(outer, tile, score);
    store_turned(scores);
    reduce_tile(chain_.first->name, at, row_axis(), score);
  }

  /// The block's queries with the query innermost: loaded along the depth, turned in registers.
  void turn_queries() {
    const std::string turned = s_.cache_read(chain_.queries->name, chain_.first->name);
    const std::string local = s_.cache_write(turned);
    s_.compute_at(turned, block_);
    if (!chain_.scaled.empty()) s_.compute_inline(chain_.scaled);
    const std::size_t rank = chain_.queries->axes.size(), query = query_index();
    std::vector<schedule::LayoutDim> layout;
    for (std::size_t a = 0; a < rank; ++a) {
      if (a != query) layout.push_back({static_cast<int>(a), 1, 0, 0});
    }
    layout.push_back({static_cast<int>(query), 1, 0, 0});
    s_.set_layout(turned, layout);
    const std::vector<Loop> loops = s_.loops(turned);
    const std::vector<Loop> depth = s_.split(loops.back(), {vector}, Tail::Peel);
    const std::vector<Loop> queries = s_.split(loops[query], {vector}, Tail::Mask);
    std::vector<Loop> order;
    for (std::size_t a = 0; a + 1 < rank; ++a) {
      if (a != query) order.push_back(loops[a]);
    }
    order.insert(order.end(), {queries[0], depth[0], depth[1], queries[1]});
    s_.reorder(order);
    s_.vectorize(queries[1]);
    s_.unroll(depth[1]);
    s_.compute_at(local, depth[0]);
    s_.set_scope(local, Scope::Register);
    const std::vector<Loop> inner = s_.loops(local);
    const std::vector<Loop> lanes = s_.split(inner.back(), {vector}, Tail::Mask);
    s_.vectorize(lanes[1]);
    s_.unroll(lanes[0]);
    for (std::size_t a = 0; a + 1 < rank; ++a) s_.unroll(inner[a]);
  }

  /// Which index of the queries' tensor is the query.
  std::size_t query_index() const {
    std::size_t found = 0;
    for (const ir::Expr& load : chain_.first->body[0]->args) {
      if (load->stage != chain_.queries) continue;
      for (std::size_t a = 0; a < load->args.size(); ++a) {
        if (load->args[a]->kind == ir::ExprKind::Var && load->args[a]->axis == chain_.first->axes[row_axis()])
          found = a;
      }
    }
    return found;
  }

  void copy_values() {
    const std::string copy = s_.cache_read(chain_.values->name, chain_.second->name);
    s_.compute_at(copy, block_);
    const std::vector<Loop> parts = s_.split(s_.loops(copy).back(), {vector}, Tail::Mask);
    s_.vectorize(parts[1]);
  }

  Schedule& s_;
  const ProductChain& chain_;
  std::size_t rank_;
  Loop block_, value_tile_, scores_at_;
};

}  // namespace

void apply_chain(Schedule& s, Knobs& knobs, const target::Target& target, const ProductChain& chain) {
  const std::int64_t native = target.vector_bytes / 4, registers = target.vector_registers;
  const std::size_t rank = chain.first->axes.size();
  const std::int64_t queries = chain.first->axes[rank - 2].extent().value(),
                     keys = chain.first->axes[rank - 1].extent().value(),
                     depth = chain.first->reduce_axes[0].extent().value(),
                     width = chain.second->axes.back().extent().value();
  ChainSchedule chosen(s, chain);
  chosen.vector = knobs.choice("vector", {std::max<std::int64_t>(native / 2, 4), native}, native);
  std::vector<std::int64_t> blocks;
  for (const std::int64_t vectors : {1, 2, 3, 4, 6, 8, 12, 16}) {
    if (blocks.empty() || vectors * native < queries + native) blocks.push_back(vectors * native);
  }
  chosen.block = knobs.choice("block", blocks, 4 * native);
  chosen.score.vectors = knobs.choice("score_vectors", range_up_to((queries + 3) / 4, 4), 2);
  chosen.score.rows = knobs.choice("score_rows", range_up_to(keys, 28), rows_beside(2, registers));
  chosen.score.unroll = knobs.choice("score_unroll", up_to(depth, {1, 2, 4, 8}), 2);
  chosen.score.order = knobs.choice("score_order", {0, 1}, 0);
  const std::int64_t value_vectors = width > 2 * native && rows_beside(4, registers) > 2 ? 4 : width > native ? 2 : 1;
  chosen.value.vectors = knobs.choice("value_vectors", range_up_to((width + 3) / 4, 6), value_vectors);
  chosen.value.rows = knobs.choice("value_rows", range_up_to(queries, 28), rows_beside(value_vectors, registers));
  chosen.value.unroll = knobs.choice("value_unroll", up_to(keys, {1, 2, 4, 8}), 2);
  chosen.value.order = knobs.choice("value_order", {0, 1}, 0);
  chosen.row_vectors = knobs.choice("row_vectors", {1, 2, 4, 8}, 4);
  // Wide vectors are several registers, whose instructions alternate: a chain of dependent ones hides behind the
  // others.
  const bool wide = knobs.choice("row_wide", {0, 1}, 1) == 1;
  chosen.row_lanes = chosen.vector * (wide ? std::min(chosen.row_vectors, kMostLanes / chosen.vector) : 1);
  chosen.pack_values = knobs.choice("pack_values", {0, 1}, 0);
  chosen.join =
      knobs.choice("join", chain.scorer.empty() ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, 1}, 0) ==
      1;
  chosen.tail = knobs.choice("tail", {0, 1}, 1) == 1 ? Tail::Balance : Tail::Peel;

  const auto in_registers = [registers](auto k) { return k[0] * k[1] + k[0] + 1 <= registers; };
  knobs.require("register file of the scores", {"score_vectors", "score_rows"}, in_registers);
  knobs.require("register file of the values", {"value_vectors", "value_rows"}, in_registers);
  if (!chain.scorer.empty()) {
    // Running results of the reduction stay in registers beside the tile, whose vectors are then the outer loop.
    knobs.require("register file of joined scores", {"join", "score_vectors", "score_rows", "score_order"},
                  [registers](auto k) { return k[0] == 0 || (k[3] == 1 && k[1] * k[2] + 2 * k[1] + 1 <= registers); });
  }
  knobs.require("score vectors divide the block", {"vector", "block", "score_vectors"},
                [](auto k) { return k[1] % (k[0] * k[2]) == 0; });
  knobs.require("row vectors divide the block", {"vector", "block", "row_vectors"},
                [](auto k) { return k[1] % (k[0] * k[2]) == 0; });
  knobs.require("wide vectors are several", {"row_wide", "row_vectors"}, [](auto k) { return k[0] == 0 || k[1] > 1; });
  knobs.require("vectors cover the depth", {"vector", "value_vectors"},
                [width](auto k) { return (k[1] - 1) * k[0] < width; });
  knobs.require("value rows fit the block", {"block", "value_rows"}, [](auto k) { return k[1] <= k[0]; });
  // Every size that rows, vectors and blocks come in gets a body of its own.
  const auto bodies = [](std::int64_t extent, std::int64_t tile) {
    return extent > tile && extent % tile != 0 ? std::int64_t{2} : std::int64_t{1};
  };
  knobs.require("instructions of the scores", {"vector", "block", "score_vectors", "score_rows", "score_unroll"},
                [=](auto k) {
                  const std::int64_t cases = bodies(keys, k[3]) * bodies(queries, k[1]);
                  return k[2] * k[3] * (k[4] + depth % k[4]) * cases <= 1024;
                });
  knobs.require("instructions of the values", {"vector", "block", "value_vectors", "value_rows", "value_unroll"},
                [=](auto k) {
                  const std::int64_t cases = bodies(k[1], k[3]) * bodies(queries, k[1]) * bodies(width, k[2] * k[0]);
                  return k[2] * k[3] * (k[4] + keys % k[4]) * cases <= 1024;
                });
  if (target.l2_bytes > 0) {
    knobs.require("scores in the second cache", {"block"}, [=, least = blocks.front(), l2 = target.l2_bytes](auto k) {
      return k[0] == least || k[0] * (2 * keys + depth) * 4 <= l2;
    });
  }
  if (knobs.declaring()) return;
  chosen.apply();
}

}  // namespace temper::space
