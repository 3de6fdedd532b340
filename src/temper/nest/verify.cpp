// The judge of loop programs: walks a program with intervals and boxes, and shares no reasoning with the builder.
//
// In-domain elements read in-domain elements: `ir::verify` has proved that of the definition. What is left to show is
//   memory     every access stays inside its storage, given the conditions under which it is carried out;
//   coverage   what is read has been written before, outputs are written as a whole;
//   terms      a reduction takes each term that exists exactly once, and no other;
//   threads    parallel iterations write disjoint elements.
#include <algorithm>

#include "temper/nest/build.h"
#include "temper/nest/coverage.h"
#include "temper/nest/implication.h"

namespace temper::nest {

namespace {

using analysis::Interval;
using schedule::Annotation;
using schedule::ScheduleError;

class Verifier {
 public:
  Verifier(const Program& program, const schedule::Schedule& schedule)
      : program_(program), schedule_(schedule), vars_(program.vars), alive_(program.storages.size(), 0) {}

  void run() {
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      const StorageKind kind = program_.storages[i].kind;
      alive_[i] = kind != StorageKind::Local && kind != StorageKind::Register;
    }
    for (const bool prepare : {true, false}) {
      prepare_ = prepare;
      std::erase_if(records_, [&](const Record& r) { return storage(r.storage).kind == StorageKind::Workspace; });
      for (const Phase& p : program_.phases) {
        if (p.prepare == prepare) phase(p);
      }
    }
    for (int output : program_.outputs) {
      const bool written = std::any_of(records_.begin(), records_.end(), [&](const Record& r) {
        return storage(r.storage).stage == output && storage(r.storage).kind == StorageKind::Output;
      });
      if (!written) fail("NotCovered", output, "the output is never written");
    }
  }

 private:
  /// Elements written by one kind of statement of a stage: Define and Init over the spatial axes, Update over all.
  struct Record {
    Statement::Kind kind;
    int storage;
    WriteBox box;
    int level;  ///< depth of the block that it is known to: blocks that have ended hand theirs to the one around
  };

  const Storage& storage(int index) const { return program_.storages[static_cast<std::size_t>(index)]; }
  const ir::Stage& definition(int stage) const { return *program_.stages[static_cast<std::size_t>(stage)]; }
  [[noreturn]] void fail(const char* rule, int stage, const std::string& what) const {
    throw ScheduleError(rule, what, schedule_, stage);
  }
  static std::int64_t extent_of(const ir::Axis& axis) { return axis.extent().value(); }

  // ---- control flow

  void phase(const Phase& p) {
    const auto own = std::find_if(program_.storages.begin(), program_.storages.end(), [&](const Storage& s) {
      return s.stage == p.stage && s.kind != StorageKind::Local && s.kind != StorageKind::Register;
    });
    if (own == program_.storages.end()) fail("NotCovered", p.stage, "the stage has no storage");
    phase_storage_ = static_cast<int>(own - program_.storages.begin());
    block(p.body);
    finish_reductions(phase_storage_, 1);
    merge_records(1);
    const ir::Stage& stage = definition(p.stage);
    const Record* whole = nullptr;
    for (const Record& r : records_) {
      if (r.level == 1 && r.storage == phase_storage_ && covers_domain(r.box, stage)) whole = &r;
    }
    if (whole == nullptr) fail("NotCovered", p.stage, "some elements of '" + stage.name + "' are never written");
    Record kept = *whole;
    kept.level = 0;
    std::erase_if(records_, [](const Record& r) { return r.level > 0; });
    records_.push_back(std::move(kept));
  }

  static bool covers_domain(const WriteBox& box, const ir::Stage& stage) {
    for (std::size_t i = 0; i < stage.axes.size(); ++i) {
      if (!box.lo[i].is_constant() || box.lo[i].constant > 0 ||
          box.lo[i].constant + box.extent[i] < extent_of(stage.axes[i]))
        return false;
    }
    return box.complete && box.strides.empty();
  }

  /// Afterwards the records of the block have the level `depth_ + 1`.
  void block(const std::vector<Node>& nodes) {
    const int own = ++depth_;
    std::vector<int> allocated;
    for (const Node& node : nodes) {
      if (const auto* allocate = std::get_if<Allocate>(&node.value)) {
        alive_[static_cast<std::size_t>(allocate->storage)] = 1;
        allocated.push_back(allocate->storage);
        continue;
      }
      std::visit(
          [&](const auto& inner) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(inner)>, Allocate>) walk(inner);
          },
          node.value);
    }
    for (int s : allocated) {
      finish_reductions(s, own);
      alive_[static_cast<std::size_t>(s)] = 0;
    }
    if (!allocated.empty())
      std::erase_if(records_, [&](const Record& r) { return alive_[static_cast<std::size_t>(r.storage)] == 0; });
    merge_records(own);
    // A block that holds both the initialisation and the terms of a reduction completes it.
    std::vector<int> reductions;
    for (const Record& r : records_) {
      if (r.level >= own && r.kind == Statement::Kind::Update && pending_init(r.storage, own))
        reductions.push_back(r.storage);
    }
    for (int s : reductions) finish_reductions(s, own);
    --depth_;
  }

  bool pending_init(int s, int level) const {
    return std::any_of(records_.begin(), records_.end(), [&](const Record& r) {
      return r.level >= level && r.storage == s && r.kind == Statement::Kind::Init && !r.box.complete;
    });
  }

  /// Turns what the block that has just ended wrote in one iteration of `var` into what all of them write.
  void close_loop(Var var, std::int64_t begin, std::int64_t end, bool parallel) {
    bool torn = false;
    for (Record& r : records_) {
      if (r.level <= depth_) continue;
      const Closed closed = close(r.box, var, begin, end, vars_);
      const bool race = parallel && end - begin > 1 && (closed != Closed::Tiled || r.storage != phase_storage_);
      if (race) fail("Overlap", storage(r.storage).stage, "parallel iterations write the same elements");
      if (closed != Closed::Torn) continue;
      if (r.kind == Statement::Kind::Update)
        fail("NotCovered", storage(r.storage).stage, "the terms of the reduction do not make up a box");
      torn = true;
      r.level = -1;
    }
    if (torn) std::erase_if(records_, [](const Record& r) { return r.level < 0; });
  }
  /// Hands the records of the block that has just ended to the one around it.
  void surface() {
    for (Record& r : records_) r.level = std::min(r.level, depth_);
  }

  void check_range(Var var, std::int64_t begin, std::int64_t end, const char* what) const {
    const Interval r = vars_[var].range;
    if (r.lo > begin || r.hi < end - 1)
      throw ScheduleError("OutOfBounds", std::string("the range of ") + what + " '" + vars_[var].name + "' is wrong",
                          schedule_, -1);
  }

  void walk(const Loop& loop) {
    check_range(loop.var, loop.begin, loop.end, "loop");
    if (loop.begin >= loop.end) return;
    if (loop.kind == Annotation::Vectorized && (loop.begin != 0 || loop.lanes < loop.end))
      throw ScheduleError("OutOfBounds", "the lanes of '" + vars_[loop.var].name + "' do not hold its iterations",
                          schedule_, -1);
    const std::size_t facts = facts_.size(), bounds = bounds_.size();
    for (const Bound& b : loop.lower) bounds_.emplace_back(loop.var, Affine::of(loop.var, b.divisor) - b.numerator);
    for (const Bound& b : loop.upper) bounds_.emplace_back(loop.var, b.numerator - Affine::of(loop.var, b.divisor));
    for (std::size_t i = bounds; i < bounds_.size(); ++i) facts_.push_back({bounds_[i].second, false});
    block(loop.body);
    if (bounds_.size() > bounds) {
      // Not every iteration runs, so only terms, which say themselves which of them exist, are counted on.
      std::erase_if(records_, [&](const Record& r) { return r.level > depth_ && r.kind != Statement::Kind::Update; });
    }
    close_loop(loop.var, loop.begin, loop.end, loop.kind == Annotation::Parallel);
    surface();
    facts_.resize(facts);
    bounds_.resize(bounds);
  }

  /// How many components, from the first on, the body chooses segments of before anything else.
  static std::size_t branched(const std::vector<Node>& body, const FusedLoop& loop, std::size_t index) {
    if (index == loop.components.size() || body.size() != 1) return 0;
    const auto* branch = std::get_if<Branch>(&body[0].value);
    if (branch == nullptr || branch->var != loop.components[index].var) return 0;
    std::size_t least = loop.components.size();
    for (const Branch::Segment& segment : branch->segments)
      least = std::min(least, branched(segment.body, loop, index + 1));
    return 1 + least;
  }

  void walk(const FusedLoop& loop) {
    const bool parallel = loop.kind == Annotation::Parallel;
    const std::size_t chosen = branched(loop.body, loop, 0), before = segmented_.size();
    for (const auto& component : loop.components) check_range(component.var, 0, component.extent, "loop");
    for (std::size_t i = 0; i < chosen; ++i) segmented_.push_back({loop.components[i].var, parallel});
    block(loop.body);
    segmented_.resize(before);
    for (std::size_t i = loop.components.size(); i-- > chosen;)
      close_loop(loop.components[i].var, 0, loop.components[i].extent, parallel);
    surface();
  }

  void walk(const Branch& branch) {
    const Interval whole = vars_[branch.var].range;
    std::int64_t next = whole.lo;
    const auto owner =
        std::find_if(segmented_.begin(), segmented_.end(), [&](const Segmented& s) { return s.var == branch.var; });
    const bool parallel = owner != segmented_.end() && owner->parallel;
    for (const Branch::Segment& segment : branch.segments) {
      if (segment.begin != next)
        throw ScheduleError("NotCovered", "the segments of '" + vars_[branch.var].name + "' leave a gap", schedule_,
                            -1);
      next = segment.end;
      check_range(segment.refined, segment.begin, segment.end, "segment");
      block(segment.body);
      close_loop(segment.refined, segment.begin, segment.end, parallel);
      surface();
    }
    if (next != whole.hi + 1)
      throw ScheduleError("NotCovered", "the segments of '" + vars_[branch.var].name + "' leave a gap", schedule_, -1);
    const bool overlap = merge_records(depth_);
    if (parallel && (overlap || records_overlap(depth_)))
      fail("Overlap", storage(phase_storage_).stage, "parallel iterations write the same elements");
  }

  /// Merges boxes of the same storage, kind and level, from `level` inwards; of one storage if `only` names it. Returns
  /// whether some overlapped.
  bool merge_records(int level, int only = -1) {
    bool overlap = false;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const Record& first = records_[i];
      if (first.level < level || (only >= 0 && first.storage != only)) continue;
      std::vector<std::size_t> places;
      for (std::size_t j = i; j < records_.size(); ++j) {
        if (records_[j].storage == first.storage && records_[j].kind == first.kind && records_[j].level == first.level)
          places.push_back(j);
      }
      if (places.size() < 2) continue;
      std::vector<WriteBox> boxes;
      for (std::size_t place : places) boxes.push_back(std::move(records_[place].box));
      overlap = merge(boxes, 0) || overlap;
      for (std::size_t k = 0; k < boxes.size(); ++k) records_[places[k]].box = std::move(boxes[k]);
      for (std::size_t k = places.size(); k-- > boxes.size();)
        records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(places[k]));
    }
    return overlap;
  }

  /// Whether two boxes of a storage, written by different segments, share elements or cannot be told apart.
  bool records_overlap(int level) const {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      for (std::size_t j = i + 1; j < records_.size(); ++j) {
        const Record &a = records_[i], &b = records_[j];
        if (a.level < level || b.level < level || a.storage != b.storage || a.kind != b.kind) continue;
        bool apart = false;
        for (std::size_t d = 0; d < a.box.lo.size() && !apart; ++d) {
          const Interval r = range_of(b.box.lo[d] - a.box.lo[d], vars_);
          apart = r.lo >= a.box.extent[d] || -r.hi >= b.box.extent[d];
        }
        if (!apart) return true;
      }
    }
    return false;
  }

  // ---- reductions

  /// Matches the terms taken so far with the initialised elements (records of `level` and inwards). Every term that
  /// exists must have been taken once; then the elements are complete.
  void finish_reductions(int s, int level) {
    if (!pending_init(s, level)) return;
    merge_records(level, s);
    const ir::Stage& stage = definition(storage(s).stage);
    const int stage_index = storage(s).stage;
    const std::size_t rank = stage.axes.size();
    std::vector<std::size_t> inits;
    std::vector<WriteBox*> updates, finishes;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      Record& r = records_[i];
      if (r.storage != s || r.level < level) continue;
      if (r.kind == Statement::Kind::Init && !r.box.complete) inits.push_back(i);
      if (r.kind == Statement::Kind::Update) updates.push_back(&r.box);
      if (r.kind == Statement::Kind::Finish) finishes.push_back(&r.box);
    }
    std::size_t placed = 0;
    for (std::size_t i : inits) {
      const WriteBox& init = records_[i].box;
      if (!init.strides.empty()) fail("NotCovered", stage_index, "the initialised elements do not make up a box");
      Cell whole;
      for (std::size_t d = 0; d < rank; ++d) {
        whole.lo.push_back(0);
        whole.hi.push_back(init.extent[d]);
      }
      if (storage(s).lane_partials > 0) {
        const bool combined = std::any_of(finishes.begin(), finishes.end(), [&](const WriteBox* f) {
          return !f->repeated && f->lo == init.lo && f->extent == init.extent;
        });
        if (!combined) fail("NotCovered", stage_index, "lane partials are not combined exactly once");
      }
      for (const ir::Axis& axis : stage.reduce_axes) {
        whole.lo.push_back(0);
        whole.hi.push_back(extent_of(axis));
      }
      std::vector<Cell> taken;
      for (const WriteBox* update : updates) {
        if (auto cell = relative(*update, init, rank)) {
          const bool inside = contains_spatial(whole, *cell, rank);
          if (!inside) continue;
          ++placed;
          if (update->repeated && !stage.reducer->idempotent)
            fail("Overlap", stage_index, "some terms of the reduction are taken twice");
          for (std::size_t d = rank; d < whole.hi.size(); ++d) {
            cell->lo[d] = std::max(cell->lo[d], whole.lo[d]);
            cell->hi[d] = std::min(cell->hi[d], whole.hi[d]);
          }
          taken.push_back(std::move(*cell));
        }
      }
      if (overlapping(taken) && !stage.reducer->idempotent)
        fail("Overlap", stage_index, "some terms of the reduction are taken twice");
      if (taken.size() == 1 && taken[0].lo == whole.lo && taken[0].hi == whole.hi) continue;
      int steps = 0;
      for (const Cell& cell : uncovered(whole, taken)) {
        if (!no_terms(stage, init, cell, steps))
          fail("NotCovered", stage_index, "some terms of the reduction are never taken");
      }
    }
    for (const WriteBox* update : updates) {
      if (!update->strides.empty()) fail("NotCovered", stage_index, "the terms of the reduction do not make up a box");
    }
    if (placed < updates.size())
      fail("NotCovered", stage_index, "terms enter elements that are not initialised at that point");
    for (std::size_t i : inits) records_[i].box.complete = true;
    std::erase_if(records_, [&](const Record& r) {
      return r.storage == s && r.level >= level &&
             (r.kind == Statement::Kind::Update || r.kind == Statement::Kind::Finish);
    });
    merge_records(level, s);
  }

  /// The terms of `update` relative to the corner of `init`; nothing when their distance is not constant.
  static std::optional<Cell> relative(const WriteBox& update, const WriteBox& init, std::size_t rank) {
    Cell cell;
    for (std::size_t d = 0; d < update.lo.size(); ++d) {
      const Affine offset = d < rank ? update.lo[d] - init.lo[d] : update.lo[d];
      if (!offset.is_constant()) return std::nullopt;
      cell.lo.push_back(offset.constant);
      cell.hi.push_back(offset.constant + update.extent[d]);
    }
    return cell;
  }
  static bool contains_spatial(const Cell& whole, const Cell& cell, std::size_t rank) {
    for (std::size_t d = 0; d < rank; ++d) {
      if (cell.lo[d] < whole.lo[d] || cell.hi[d] > whole.hi[d]) return false;
    }
    return true;
  }

  /// Whether no term of the cell exists: it lies outside the domain, or a condition never holds. Halves the cell where
  /// different conditions rule out different parts.
  bool no_terms(const ir::Stage& stage, const WriteBox& init, const Cell& cell, int& steps) {
    if (++steps > 256) return false;
    std::vector<std::pair<const ir::AxisNode*, Affine>> axes;
    std::size_t widest = 0;
    const std::size_t rank = stage.axes.size();
    for (std::size_t d = 0; d < cell.lo.size(); ++d) {
      const ir::Axis& axis = d < rank ? stage.axes[d] : stage.reduce_axes[d - rank];
      Affine value = cell.hi[d] - cell.lo[d] == 1 ? Affine(cell.lo[d])
                                                  : Affine::of(vars_.add(axis.name(), {cell.lo[d], cell.hi[d] - 1}));
      if (d < rank) {
        value += init.lo[d];
        const Interval r = range_of(value, vars_);
        if (r.hi < 0 || r.lo >= extent_of(axis)) return true;
      }
      axes.emplace_back(axis.get(), std::move(value));
      if (cell.hi[d] - cell.lo[d] > cell.hi[widest] - cell.lo[widest]) widest = d;
    }
    const auto value = lookup(axes);
    for (const ir::Expr& where : stage.where) {
      for (const Condition& condition : analysis::implied_conditions(where, true, value, vars_)) {
        if (analysis::decide(condition, vars_) == false) return true;
      }
    }
    const std::int64_t width = cell.lo.empty() ? 1 : cell.hi[widest] - cell.lo[widest];
    if (width == 1) return false;
    Cell low = cell, high = cell;
    low.hi[widest] = high.lo[widest] = cell.lo[widest] + width / 2;
    return no_terms(stage, init, low, steps) && no_terms(stage, init, high, steps);
  }

  static analysis::AxisValue lookup(const std::vector<std::pair<const ir::AxisNode*, Affine>>& axes) {
    return [&axes](const ir::AxisNode* axis) -> const Affine* {
      for (auto at = axes.rbegin(); at != axes.rend(); ++at) {
        if (at->first == axis) return &at->second;
      }
      return nullptr;
    };
  }

  // ---- statements

  void walk(const Prefetch& p) {
    if (alive_[static_cast<std::size_t>(p.storage)] == 0)
      fail("NotStored", program_.storages[static_cast<std::size_t>(p.storage)].stage,
           "it is prefetched but not stored");
  }

  void walk(const Statement& s) {
    const ir::Stage& stage = definition(s.stage);
    const std::size_t rank = stage.axes.size(), facts = facts_.size();
    if (alive_[static_cast<std::size_t>(s.storage)] == 0)
      fail("NotCovered", s.stage, "the stage is written where its storage does not exist");
    statement_ = &s;
    const bool takes_terms = s.kind == Statement::Kind::Update;
    std::vector<std::pair<const ir::AxisNode*, Affine>> axes;
    for (std::size_t i = 0; i < s.axes.size(); ++i)
      axes.emplace_back((i < rank ? stage.axes[i] : stage.reduce_axes[i - rank]).get(), s.axes[i]);
    facts_.insert(facts_.end(), s.conditions.begin(), s.conditions.end());
    axes_ = &axes;
    if (takes_terms) check_terms(s, stage);
    check_conditions(s, stage);
    if (takes_terms) {
      for (int opaque : s.opaque) {
        for (Condition& c :
             analysis::implied_conditions(stage.where[static_cast<std::size_t>(opaque)], true, lookup(axes), vars_))
          facts_.push_back(std::move(c));
      }
    }
    const std::vector<Affine> own(s.axes.begin(), s.axes.begin() + static_cast<std::ptrdiff_t>(rank));
    const Element element(own.begin(), own.end());
    check_inside(s.storage, element, s.stage, "writes");
    if (takes_terms || s.kind == Statement::Kind::Finish) check_initialised(s, element);
    const bool partials = storage(s.storage).lane_partials > 0;
    if (s.kind == Statement::Kind::Finish && !partials)
      fail("Overlap", s.stage, "the initial value enters twice: there are no lane partials");
    switch (s.kind) {
      case Statement::Kind::Define:
      case Statement::Kind::Update: check_reads(stage.body); break;
      case Statement::Kind::Init:
        if (!partials) check_reads(stage.init);
        break;
      case Statement::Kind::Finish: check_reads(stage.init); break;
    }
    WriteBox box{takes_terms ? s.axes : own, {}, {}, false, s.kind != Statement::Kind::Init};
    box.extent.assign(box.lo.size(), 1);
    records_.push_back({s.kind, s.storage, std::move(box), depth_});
    facts_.resize(facts);
  }

  /// Conditions that a statement carries may only leave out what does not exist anyway.
  void check_conditions(const Statement& s, const ir::Stage& stage) {
    std::vector<Condition> reasons;
    for (std::size_t i = 0; i < s.axes.size(); ++i) {
      const std::int64_t extent =
          extent_of(i < stage.axes.size() ? stage.axes[i] : stage.reduce_axes[i - stage.axes.size()]);
      reasons.push_back({s.axes[i], false});
      reasons.push_back({Affine(extent - 1) - s.axes[i], false});
    }
    if (s.kind == Statement::Kind::Update) {
      for (const ir::Expr& where : stage.where) {
        for (Condition& c : analysis::implied_conditions(where, true, lookup(*axes_), vars_))
          reasons.push_back(std::move(c));
      }
    }
    std::vector<Condition> left_out = s.conditions;
    if (s.kind == Statement::Kind::Update) {
      // Bounds of loops over this reduction's own terms are conditions too.
      for (const auto& [var, form] : bounds_) {
        const bool own = std::any_of(s.axes.begin() + static_cast<std::ptrdiff_t>(stage.axes.size()), s.axes.end(),
                                     [&](const Affine& axis) { return vars_.depends_on(axis, var); });
        if (own) left_out.push_back({form, false});
      }
    }
    for (const Condition& c : left_out) {
      if (!Implication(vars_).holds(c, reasons))
        fail("NotCovered", s.stage,
             "a condition leaves out elements that exist: " + analysis::print(c.form, vars_) +
                 (c.equality ? " == 0" : " >= 0"));
    }
  }

  /// No term is taken that does not exist: conditions and reduce axes are respected.
  void check_terms(const Statement& s, const ir::Stage& stage) {
    for (std::size_t i = stage.axes.size(); i < s.axes.size(); ++i) {
      const std::int64_t extent = extent_of(stage.reduce_axes[i - stage.axes.size()]);
      if (!nonnegative(s.axes[i]) || !nonnegative(Affine(extent - 1) - s.axes[i]))
        fail("OutOfBounds", s.stage,
             "terms past the end of '" + stage.reduce_axes[i - stage.axes.size()].name() + "' are taken");
    }
    for (std::size_t w = 0; w < stage.where.size(); ++w) {
      if (std::find(s.opaque.begin(), s.opaque.end(), static_cast<int>(w)) != s.opaque.end()) continue;
      const auto conditions = analysis::to_conditions(stage.where[w], lookup(*axes_), vars_);
      const bool kept = conditions && std::all_of(conditions->begin(), conditions->end(), [&](const Condition& c) {
                          return Implication(vars_).holds(c, facts_);
                        });
      if (!kept)
        fail("OutOfBounds", s.stage,
             "terms are taken where the condition " + ir::print(stage.where[w]) + " does not hold");
    }
  }

  bool nonnegative(const Affine& form) const { return Implication(vars_).nonnegative(form, facts_); }

  /// An element; axes whose index is known only at run time are empty.
  using Element = std::vector<std::optional<Affine>>;

  void check_inside(int index, const Element& element, int stage, const char* what) const {
    const Storage& target = storage(index);
    for (std::size_t i = 0; i < element.size(); ++i) {
      if (!element[i]) {
        // The definition keeps such an index inside the domain.
        const std::int64_t extent = extent_of(definition(target.stage).axes[i]);
        if (nonnegative(target.base[i] * -1) && nonnegative(target.base[i] + Affine(target.extents[i] - extent)))
          continue;
        fail("OutOfBounds", stage,
             "it " + std::string(what) + " '" + definition(target.stage).name +
                 "' at indices known only at run time, but not all of axis " + std::to_string(i) + " is stored");
      }
      const Affine local = *element[i] - target.base[i];
      if (!nonnegative(local) || !nonnegative(Affine(target.extents[i] - 1) - local)) {
        fail("OutOfBounds", stage,
             "it " + std::string(what) + " '" + definition(target.stage).name + "' outside its storage: index " +
                 std::to_string(i) + " is " + analysis::print(*element[i], vars_));
      }
    }
  }

  /// The element that a term enters has been initialised.
  void check_initialised(const Statement& s, const Element& element) {
    if (!written(s.storage, element, true))
      fail("NotCovered", s.stage, "terms enter elements that are not initialised at that point");
  }

  /// Whether a box written before holds the element, wherever the statement's own element is in its domain.
  bool written(int index, const Element& element, bool pending) {
    const std::size_t facts = facts_.size();
    bool found = false;
    for (int pass = 0; pass < 2 && !found; ++pass) {
      if (pass == 1) assume_domain();
      for (const Record& r : records_) {
        if (r.storage != index || r.kind == Statement::Kind::Update || r.kind == Statement::Kind::Finish) continue;
        if ((!pending && !r.box.complete) || !r.box.strides.empty()) continue;
        found = true;
        for (std::size_t i = 0; i < element.size() && found; ++i) {
          if (!element[i]) {
            const std::int64_t extent = extent_of(definition(storage(index).stage).axes[i]);
            found = nonnegative(r.box.lo[i] * -1) && nonnegative(r.box.lo[i] + Affine(r.box.extent[i] - extent));
            continue;
          }
          const Affine local = *element[i] - r.box.lo[i];
          found = nonnegative(local) && nonnegative(Affine(r.box.extent[i] - 1) - local);
        }
        if (found) break;
      }
    }
    facts_.resize(facts);
    return found;
  }
  void assume_domain() {
    const Statement& s = *statement_;
    const ir::Stage& stage = definition(s.stage);
    for (std::size_t i = 0; i < s.axes.size(); ++i) {
      const std::int64_t extent =
          extent_of(i < stage.axes.size() ? stage.axes[i] : stage.reduce_axes[i - stage.axes.size()]);
      facts_.push_back({s.axes[i], false});
      facts_.push_back({Affine(extent - 1) - s.axes[i], false});
    }
  }

  // ---- reads

  void check_reads(const std::vector<ir::Expr>& list) {
    for (const ir::Expr& expr : list) check_reads(expr);
  }

  void check_reads(const ir::Expr& expr) {
    if (expr->kind == ir::ExprKind::Select) {
      check_reads(expr->args[0]);
      for (const bool branch : {true, false}) {
        const std::size_t facts = facts_.size();
        bool possible = true;
        for (Condition& c : analysis::implied_conditions(expr->args[0], branch, lookup(*axes_), vars_)) {
          possible = possible && analysis::decide(c, vars_) != false;
          facts_.push_back(std::move(c));
        }
        if (possible) check_reads(expr->args[branch ? 1 : 2]);
        facts_.resize(facts);
      }
      return;
    }
    for (const ir::Expr& arg : expr->args) check_reads(arg);
    if (expr->kind == ir::ExprKind::Load) check_read(*expr);
  }

  int stage_index(const ir::Stage* stage) const {
    for (std::size_t i = 0; i < program_.stages.size(); ++i) {
      if (program_.stages[i].get() == stage) return static_cast<int>(i);
    }
    fail("NotCovered", statement_->stage, "it reads '" + stage->name + "', which is not in the program");
  }

  void check_read(const ir::ExprNode& load) {
    const int producer = stage_index(load.stage.get()), reader = statement_->stage;
    Element index;
    bool affine = true;
    for (const ir::Expr& arg : load.args) {
      index.push_back(analysis::to_affine(arg, lookup(*axes_), vars_));
      affine = affine && index.back().has_value();
    }
    if (program_.inlined[static_cast<std::size_t>(producer)]) {
      const ir::Stage& inlined = *load.stage;
      const std::size_t depth = axes_->size();
      for (std::size_t i = 0; i < index.size(); ++i) {
        if (index[i]) axes_->emplace_back(inlined.axes[i].get(), std::move(*index[i]));
      }
      check_reads(inlined.body[static_cast<std::size_t>(load.index)]);
      axes_->resize(depth);
      return;
    }
    int from = -1;
    for (const auto& [stage, at] : statement_->reads) {
      if (stage == producer) from = at;
    }
    if (from < 0 || storage(from).stage != producer || alive_[static_cast<std::size_t>(from)] == 0)
      fail("NotCovered", reader, "it reads '" + load.stage->name + "' where its storage does not exist");
    const StorageKind kind = storage(from).kind;
    if (prepare_ && kind == StorageKind::Input)
      fail("NotCovered", reader, "it is prepared, but reads '" + load.stage->name + "', which is not constant");
    check_inside(from, index, reader, "reads");
    if (!affine) check_own_domain(load.stage->name);
    if (kind == StorageKind::Input || kind == StorageKind::Constant) return;
    if (from != statement_->storage) {
      finish_reductions(from, 0);
      merge_records(0, from);
    }
    const bool local = kind == StorageKind::Local || kind == StorageKind::Register;
    // The whole domain of a stage at root is there; in-domain elements read nothing else.
    const bool there =
        local ? written(from, index, false) : std::any_of(records_.begin(), records_.end(), [&](const Record& r) {
          return r.storage == from && covers_domain(r.box, *load.stage);
        });
    if (!there) {
      std::string text;
      for (const auto& form : index) text += (text.empty() ? "" : ", ") + (form ? analysis::print(*form, vars_) : "?");
      fail("NotCovered", reader, "it reads '" + load.stage->name + "[" + text + "]' before it is written");
    }
  }

  /// An index known only at run time is inside the domain for elements inside theirs; others must not be computed.
  void check_own_domain(const std::string& source) const {
    const ir::Stage& own = definition(statement_->stage);
    for (std::size_t i = 0; i < statement_->axes.size(); ++i) {
      const std::int64_t extent = extent_of(i < own.axes.size() ? own.axes[i] : own.reduce_axes[i - own.axes.size()]);
      if (!nonnegative(statement_->axes[i]) || !nonnegative(Affine(extent - 1) - statement_->axes[i]))
        fail("OutOfBounds", statement_->stage,
             "it reads '" + source + "' at indices known only at run time, past its own domain");
    }
  }

  struct Segmented {
    Var var;
    bool parallel;
  };

  const Program& program_;
  const schedule::Schedule& schedule_;
  VarSpace vars_;
  std::vector<char> alive_;
  std::vector<Record> records_;
  std::vector<Condition> facts_;                ///< hold where the current statement is carried out
  std::vector<std::pair<Var, Affine>> bounds_;  ///< of the open loops: form >= 0
  std::vector<Segmented> segmented_;
  std::vector<std::pair<const ir::AxisNode*, Affine>>* axes_ = nullptr;
  const Statement* statement_ = nullptr;
  int phase_storage_ = -1;
  int depth_ = 0;  ///< open blocks
  bool prepare_ = false;
};

}  // namespace

void verify(const Program& program, const schedule::Schedule& schedule) { Verifier(program, schedule).run(); }

}  // namespace temper::nest
