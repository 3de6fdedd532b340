#include "random_schedule.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "temper/analysis/affine.h"

namespace temper::fuzz {

namespace {

using schedule::Annotation;
using schedule::Loop;
using schedule::PlacementKind;
using schedule::Schedule;
using schedule::Scope;
using schedule::StageSchedule;
using schedule::Tail;

class Generator {
 public:
  Generator(const ir::Compute& compute, RandomStream& random, std::map<std::string, int>& refused)
      : s_(compute), random_(random), refused_(refused) {}

  Schedule generate() {
    fuse_axes();
    if (random_.chance(0.4) && register_tile()) return std::move(s_);
    add_stages();
    // Consumers first, so that a producer finds the loops of its consumer in their final shape.
    std::vector<int> order = schedule::topological_order(s_);
    std::reverse(order.begin(), order.end());
    for (int stage : order) {
      if (s_[stage].is_placeholder()) continue;
      place(stage);
      if (s_[stage].compute.kind == PlacementKind::Inline) continue;
      shape_loops(stage);
      annotate(stage);
      prefetch(stage);
    }
    return std::move(s_);
  }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) { return random_.uniform_int(low, high); }
  template <class Action>
  bool attempt(Action&& action) {
    const std::size_t steps = s_.trace().size();
    const std::string before = print(s_);
    try {
      action();
      return true;
    } catch (const schedule::ScheduleError& error) {
      ++refused_[error.rule()];
      TEMPER_CHECK(s_.trace().size() == steps && print(s_) == before,
                   "a primitive that failed has changed the schedule: " + std::string(error.what()));
      return false;
    }
  }
  const std::string& name(int stage) const { return s_[stage].definition->name; }
  std::vector<int> computed() const {
    std::vector<int> out;
    for (std::size_t i = 0; i < s_.stages().size(); ++i) {
      if (!s_.stages()[i].is_placeholder()) out.push_back(static_cast<int>(i));
    }
    return out;
  }
  std::vector<int> consumers(int stage) const {
    std::vector<int> out;
    for (int c : computed()) {
      const std::vector<int> reads = schedule::reads_of(s_, c);
      if (std::find(reads.begin(), reads.end(), stage) != reads.end()) out.push_back(c);
    }
    return out;
  }

  /// Some loops ask for what a later iteration reads.
  void prefetch(int stage) {
    if (!random_.chance(0.2)) return;
    std::vector<Loop> serial;
    for (const Loop& l : s_.loops(name(stage))) {
      const schedule::Iter& iter = s_[stage].iters[static_cast<std::size_t>(l.iter)];
      if (iter.annotation == Annotation::Serial && s_[stage].fuse_of(l.iter) == nullptr) serial.push_back(l);
    }
    const std::vector<int> sources = schedule::reads_of(s_, stage);
    if (serial.empty() || sources.empty()) return;
    const std::string& source = name(random_.pick(sources));
    const Loop loop = random_.pick(serial);
    const schedule::Placement& place = s_[stage].compute;
    if (place.kind == PlacementKind::At && random_.chance(0.5)) {
      // Loops of the stage inside of which this one is computed, those of fused loops one by one.
      std::vector<Loop> outside;
      for (const Loop& l : s_.loops(name(place.loop.stage))) {
        const schedule::Fuse* fuse = s_[l.stage].fuse_of(l.iter);
        if (fuse == nullptr) outside.push_back(l);
        for (std::size_t i = 0; fuse != nullptr && i < fuse->parts.size(); ++i)
          outside.push_back({l.stage, fuse->parts[i]});
      }
      random_.shuffle(outside);
      std::vector<schedule::Turn> turns;
      for (std::size_t i = 1; i < outside.size() && random_.chance(0.6); ++i)
        turns.push_back({outside[i], number(1, 5)});
      attempt([&] { s_.prefetch_ahead(source, loop, number(1, 4), outside.front(), turns); });
      return;
    }
    attempt([&] { s_.prefetch(source, loop, number(1, 9)); });
  }

  /// Makes neighbouring axes of some definitions one.
  void fuse_axes() {
    for (int stage : computed()) {
      if (!random_.chance(0.15)) continue;
      const ir::StagePtr definition = s_[stage].definition;
      const auto& axes = definition->is_reduction() && random_.chance(0.3) ? definition->reduce_axes : definition->axes;
      if (axes.size() < 2) continue;
      const auto at = static_cast<std::size_t>(number(0, static_cast<std::int64_t>(axes.size()) - 2));
      attempt([&] { s_.fuse_axes(name(stage), axes[at].name(), axes[at + 1].name()); });
    }
  }

  /// A reduction in a register tile inside the loops of the stage that stores it, as templates do it. Returns false
  /// when the definition has no place for one; the schedule is then untouched.
  bool register_tile() {
    int reduction = -1;
    for (int stage : computed()) {
      if (s_[stage].definition->is_reduction() && !s_[stage].definition->axes.empty()) reduction = stage;
    }
    if (reduction < 0) return false;
    std::string local = name(reduction);
    const std::vector<int> readers = consumers(reduction);
    const bool followed = !s_.is_output(reduction) && readers.size() == 1 &&
                          s_[readers[0]].definition->axes.size() == s_[reduction].definition->axes.size() &&
                          !s_[readers[0]].definition->is_reduction();
    int host = followed ? readers[0] : reduction;
    if (!followed && !attempt([&] { local = s_.cache_write(name(reduction)); })) return false;
    const int tile = s_.stage(local);
    static const std::vector<std::int64_t> kWidths{4, 8, 16};
    const std::int64_t width = random_.pick(kWidths);
    pack_constants(local, width);
    const auto rank = static_cast<std::int64_t>(s_[host].definition->axes.size());
    const std::int64_t lanes_out = number(0, rank - 1),
                       lanes_in = random_.chance(0.7) ? lanes_out : number(0, rank - 1);

    // The host: outer loops, then the tile.
    std::vector<Loop> outer, inner;
    std::int64_t room = 48;
    std::optional<Loop> vector;
    const std::vector<Loop> axes = s_.loops(name(host));
    for (std::int64_t a = 0; a < rank; ++a) {
      const Loop axis = axes[static_cast<std::size_t>(a)];
      if (a == lanes_out) {
        const std::int64_t vectors = number(1, 3);
        const std::vector<Loop> parts = s_.split(axis, {vectors, width}, tail());
        outer.push_back(parts[0]);
        inner.push_back(parts[1]);
        vector = parts[2];
        room /= vectors;
      } else {
        const std::int64_t factor =
            number(1, std::clamp<std::int64_t>(room / (lanes_in == a ? width : 1), 1, 7)) * (lanes_in == a ? width : 1);
        if (factor > 1 || random_.chance(0.5)) {
          const std::vector<Loop> parts = s_.split(axis, {factor}, tail());
          outer.push_back(parts[0]);
          inner.push_back(parts[1]);
          room = std::max<std::int64_t>(1, room / factor);
        } else {
          outer.push_back(axis);
        }
      }
    }
    random_.shuffle(outer);
    random_.shuffle(inner);
    std::vector<Loop> order = outer;
    order.insert(order.end(), inner.begin(), inner.end());
    order.push_back(*vector);
    s_.reorder(order);
    Loop at = outer.back();
    if (outer.size() > 1 && random_.chance(0.4)) {
      const auto count = static_cast<std::ptrdiff_t>(number(2, static_cast<std::int64_t>(outer.size())));
      Loop fused;
      if (attempt([&] { fused = s_.fuse({outer.begin(), outer.begin() + count}); })) {
        if (count == static_cast<std::ptrdiff_t>(outer.size())) at = fused;
        if (random_.chance(0.5)) attempt([&] { s_.parallel(fused); });
      }
    }
    attempt([&] { s_.vectorize(*vector); });
    for (const Loop& l : inner) attempt([&] { s_.unroll(l); });

    // The tile.
    s_.compute_at(local, at);
    s_.set_scope(local, Scope::Register);
    const std::vector<Loop> own = s_.loops(local);
    const bool over_terms = random_.chance(0.15);
    std::vector<Loop> spatial, serial, unrolled;
    std::optional<Loop> lanes;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const bool reduce = i >= static_cast<std::size_t>(rank);
      if (!reduce && !over_terms && static_cast<std::int64_t>(i) == lanes_in) {
        const std::vector<Loop> parts = s_.split(own[i], {width}, random_.chance(0.4) ? Tail::RoundUp : tail());
        spatial.push_back(parts[0]);
        lanes = parts[1];
      } else if (reduce && over_terms && !lanes) {
        const std::vector<Loop> parts = s_.split(own[i], {width}, Tail::Mask);
        serial.push_back(parts[0]);
        lanes = parts[1];
      } else if (reduce && random_.chance(0.4)) {
        Tail cut = random_.chance(0.7) ? Tail::Peel : tail();
        if (cut == Tail::ShiftInwards) cut = Tail::Balance;
        const std::vector<Loop> parts = s_.split(own[i], {number(2, 4)}, cut);
        serial.push_back(parts[0]);
        unrolled.push_back(parts[1]);
      } else if (reduce) {
        (upper_extent(tile, own[i].iter) <= 4 && random_.chance(0.5) ? unrolled : serial).push_back(own[i]);
      } else {
        spatial.push_back(own[i]);
      }
    }
    random_.shuffle(serial);
    random_.shuffle(spatial);
    std::vector<Loop> body = serial;
    body.insert(body.end(), unrolled.begin(), unrolled.end());
    body.insert(body.end(), spatial.begin(), spatial.end());
    body.push_back(*lanes);
    attempt([&] { s_.reorder(body); });
    attempt([&] { s_.vectorize(*lanes); });
    for (const Loop& l : unrolled) attempt([&] { s_.unroll(l); });
    for (const Loop& l : spatial) attempt([&] { s_.unroll(l); });

    prefetch(tile);

    // Everything else: inlined, or as it comes.
    for (int stage : computed()) {
      if (stage == host || stage == tile) continue;
      if (!s_.is_output(stage) && !s_[stage].definition->is_reduction() && !s_[stage].prepared && random_.chance(0.5))
        attempt([&] { s_.compute_inline(name(stage)); });
      else if (random_.chance(0.5))
        annotate(stage);
    }
    return true;
  }

  /// Copies of the constants that `reader` reads, in blocks of one axis.
  void pack_constants(const std::string& reader, std::int64_t width) {
    for (int source : schedule::reads_of(s_, s_.stage(reader))) {
      if (!s_[source].definition->constant || !random_.chance(0.6)) continue;
      std::string packed;
      const std::string from = name(source);
      if (!attempt([&] { packed = s_.cache_read(from, reader); })) continue;
      const auto rank = static_cast<int>(s_[s_.stage(packed)].definition->axes.size());
      const int blocked = random_.chance(0.5) ? rank - 1 : static_cast<int>(number(0, rank - 1));
      const std::int64_t block = width * number(1, 2);
      std::vector<schedule::LayoutDim> dims{{blocked, block, 0, 0}};
      for (int axis = 0; axis < rank; ++axis) {
        if (axis != blocked) dims.push_back({axis, 1, 0, 0});
      }
      dims.push_back({blocked, 1, block, 0});
      attempt([&] { s_.set_layout(packed, dims); });
      if (random_.chance(0.9)) attempt([&] { s_.prepared(packed); });
    }
  }

  void add_stages() {
    for (int stage : computed()) {
      const ir::Stage& d = *s_[stage].definition;
      if (d.is_reduction() && random_.chance(0.12)) {
        const std::string axis = random_.pick(d.reduce_axes).name();
        const std::string of = name(stage);
        attempt([&] { s_.rfactor(of, axis, number(1, 9)); });
      }
    }
    for (int stage : computed()) {
      const double chance = s_[stage].definition->is_reduction() ? 0.5 : 0.15;
      const std::string of = name(stage);
      if (random_.chance(chance)) attempt([&] { s_.cache_write(of); });
    }
    for (int stage : computed()) {
      for (int source : schedule::reads_of(s_, stage)) {
        if (!random_.chance(s_[source].is_placeholder() ? 0.3 : 0.1)) continue;
        const std::string from = name(source), to = name(stage);
        if (!attempt([&] { s_.cache_read(from, to); })) continue;
        const int cache = static_cast<int>(s_.stages().size()) - 1;
        if (random_.chance(0.5)) set_layout(cache);
        if (s_[source].definition->constant && random_.chance(0.7)) attempt([&] { s_.prepared(name(cache)); });
      }
    }
    for (int stage : computed()) {
      if (random_.chance(0.08)) set_layout(stage);
    }
  }

  void set_layout(int stage) {
    const auto rank = static_cast<int>(s_[stage].definition->axes.size());
    if (rank == 0) return;
    std::vector<schedule::LayoutDim> dims;
    for (int axis = 0; axis < rank; ++axis) dims.push_back({axis, 1, 0, 0});
    random_.shuffle(dims);
    if (random_.chance(0.7)) {
      const auto at = static_cast<std::size_t>(number(0, rank - 1));
      static const std::vector<std::int64_t> kBlocks{2, 3, 4, 8, 16};
      const std::int64_t block = random_.pick(kBlocks);
      dims[at].divisor = block;
      dims.push_back({dims[at].axis, 1, block, 0});
    }
    for (auto& dim : dims) {
      if (random_.chance(0.15)) dim.pad = number(1, 5);
    }
    attempt([&] { s_.set_layout(name(stage), dims); });
  }

  void place(int stage) {
    if (s_.is_output(stage) || s_[stage].prepared) return;
    const std::vector<int> readers = consumers(stage);
    if (readers.empty()) return;
    if (!s_[stage].definition->is_reduction() && s_[stage].definition->dtypes.size() == 1 && random_.chance(0.3)) {
      attempt([&] { s_.compute_inline(name(stage)); });
      return;
    }
    if (random_.chance(0.3)) return;
    std::vector<int> hosts;
    for (int reader : readers) {
      if (s_[reader].compute.kind != PlacementKind::Inline) hosts.push_back(reader);
    }
    if (hosts.empty()) return;
    int host = hosts.size() == 1 || random_.chance(0.9) ? random_.pick(hosts) : random_.pick(hosts);
    // Several readers need a loop that encloses them all: go outwards until one is found, or give up.
    if (hosts.size() > 1) {
      for (int reader : readers) {
        if (reader != host && s_[reader].compute.kind == PlacementKind::At && s_[reader].compute.loop.stage == host)
          continue;
        if (reader == host) continue;
        if (!random_.chance(0.1)) return;
      }
    }
    std::vector<Loop> loops;
    for (int iter : s_[host].order) {
      if (s_[host].iters[static_cast<std::size_t>(iter)].annotation == Annotation::Vectorized && random_.chance(0.95))
        break;
      loops.push_back({host, iter});
    }
    if (loops.empty()) return;
    const Loop at = random_.pick(loops);
    if (!attempt([&] { s_.compute_at(name(stage), at); })) return;
    if (random_.chance(0.12)) {
      const Loop outer = random_.pick(loops);
      attempt([&] { s_.store_at(name(stage), outer); });
    }
    const bool reached_by_constants = inner_loops_are_constant(s_[stage].store.loop);
    if (!s_[stage].layout.empty() && random_.chance(0.9)) return;
    if (random_.chance(reached_by_constants ? 0.7 : 0.05)) attempt([&] { s_.set_scope(name(stage), Scope::Register); });
  }

  bool inner_loops_are_constant(Loop at) const {
    const StageSchedule& host = s_[at.stage];
    const auto from = std::find(host.order.begin(), host.order.end(), at.iter);
    return std::all_of(from + 1, host.order.end(), [&](int iter) {
      const schedule::Iter& it = host.iters[static_cast<std::size_t>(iter)];
      return it.annotation == Annotation::Vectorized || it.annotation == Annotation::Unrolled;
    });
  }

  Tail tail() {
    static const std::vector<Tail> kTails{Tail::Peel, Tail::Peel,    Tail::Mask,    Tail::Mask,
                                          Tail::Mask, Tail::Balance, Tail::Balance, Tail::ShiftInwards};
    return random_.chance(0.06) ? Tail::RoundUp : random_.pick(kTails);
  }

  void shape_loops(int stage) {
    // Splits.
    for (const Loop& loop : s_.loops(name(stage))) {
      if (!random_.chance(0.45)) continue;
      static const std::vector<std::int64_t> kFactors{1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 14, 16, 16, 32};
      std::vector<std::int64_t> factors{random_.pick(kFactors)};
      if (random_.chance(0.15)) factors.insert(factors.begin(), number(1, 4));
      attempt([&] { s_.split(loop, factors, tail()); });
    }
    if (random_.chance(0.1)) {
      const std::vector<Loop> loops = s_.loops(name(stage));
      if (!loops.empty()) attempt([&] { s_.split(random_.pick(loops), {number(1, 4)}, tail()); });
    }
    // Order.
    if (random_.chance(0.6)) {
      for (int tries = 0; tries < 4; ++tries) {
        std::vector<Loop> order = s_.loops(name(stage));
        random_.shuffle(order);
        // Spatial loops outside reduce loops in most cases, as every template has it.
        if (random_.chance(0.5)) {
          std::stable_partition(order.begin(), order.end(), [&](const Loop& l) {
            return !s_[l.stage].iters[static_cast<std::size_t>(l.iter)].reduce;
          });
        }
        if (attempt([&] { s_.reorder(order); })) break;
      }
    }
    if (random_.chance(0.3)) {
      const std::vector<Loop> loops = s_.loops(name(stage));
      if (loops.size() >= 2) {
        const std::int64_t first = number(0, random_.chance(0.7) ? 0 : static_cast<std::int64_t>(loops.size()) - 2);
        // A split that leaves a shorter block inside another split cannot be fused.
        const auto ragged = [&](const Loop& l) { return s_[stage].splits.size() > 0 && s_.name(l).back() != '0'; };
        if (ragged(loops[static_cast<std::size_t>(first)]) && random_.chance(0.7)) return;
        const std::int64_t last =
            std::min<std::int64_t>(static_cast<std::int64_t>(loops.size()) - 1, first + number(1, 2));
        attempt([&] { s_.fuse({loops.begin() + first, loops.begin() + last + 1}); });
      }
    }
  }

  /// Iterations of a loop at most, from the extents of the stage's axes.
  std::int64_t upper_extent(int stage, int iter) const {
    const StageSchedule& st = s_[stage];
    for (const schedule::Split& split : st.splits) {
      const std::int64_t parent = split.inner == iter || split.outer == iter ? upper_extent(stage, split.parent) : 0;
      if (split.inner == iter) return std::min(split.factor, parent);
      if (split.outer == iter) return analysis::ceil_div(parent, split.factor);
    }
    if (const schedule::Fuse* fuse = st.fuse_of(iter)) {
      std::int64_t product = 1;
      for (int part : fuse->parts) product *= upper_extent(stage, part);
      return product;
    }
    const auto at = static_cast<std::size_t>(iter);
    const std::size_t rank = st.definition->axes.size();
    return (at < rank ? st.definition->axes[at] : st.definition->reduce_axes[at - rank]).extent().value();
  }

  void annotate(int stage) {
    std::vector<Loop> loops = s_.loops(name(stage));
    if (loops.empty()) return;
    const auto iter = [&](Loop l) -> const schedule::Iter& {
      return s_[stage].iters[static_cast<std::size_t>(l.iter)];
    };
    if (random_.chance(0.6)) {
      std::vector<Loop> candidates;
      const bool reduce =
          s_[stage].definition->is_reduction() && s_[stage].scope == Scope::Register && random_.chance(0.25);
      for (const Loop& l : loops) {
        if (iter(l).reduce == reduce && upper_extent(stage, l.iter) <= 64) candidates.push_back(l);
      }
      if (!candidates.empty()) {
        Loop lanes = random_.chance(0.6) ? candidates.back() : random_.pick(candidates);
        if (upper_extent(stage, lanes.iter) > 16 || random_.chance(0.3)) {
          static const std::vector<std::int64_t> kWidths{4, 8, 16, 32};
          attempt([&] { lanes = s_.split(lanes, {random_.pick(kWidths)}, reduce ? Tail::Mask : tail()).back(); });
        }
        attempt([&] { s_.vectorize(lanes); });
      }
    }
    loops = s_.loops(name(stage));
    if (s_[stage].compute.kind == PlacementKind::Root && random_.chance(0.3))
      attempt([&] { s_.parallel(loops.front()); });
    // Unroll from the inside outwards while the body stays small.
    const bool registers = s_[stage].scope == Scope::Register;
    if (random_.chance(registers ? 1.0 : 0.5)) {
      std::int64_t copies = 1;
      const std::int64_t limit = registers ? 128 : random_.chance(0.5) ? 16 : 64;
      for (auto l = loops.rbegin(); l != loops.rend(); ++l) {
        if (iter(*l).annotation != Annotation::Serial) continue;
        if (registers && iter(*l).reduce && random_.chance(0.6)) continue;
        const std::int64_t extent = upper_extent(stage, l->iter);
        if (copies * extent > limit) {
          if (registers) continue;
          break;
        }
        if (attempt([&] { s_.unroll(*l); })) copies *= extent;
      }
    }
  }

  Schedule s_;
  RandomStream& random_;
  std::map<std::string, int>& refused_;
};

}  // namespace

Schedule random_schedule(const ir::Compute& compute, RandomStream& random, std::map<std::string, int>& refused) {
  return Generator(compute, random, refused).generate();
}

}  // namespace temper::fuzz
