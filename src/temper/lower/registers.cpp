// Register stages: which SSA value, and which of its lanes, holds each element.
#include <algorithm>

#include "temper/lower/lowering.h"
#include "temper/support/error.h"

namespace temper::lower {

namespace {

/// Register storages written and storages allocated below `nodes`.
void scan(const nest::Program& program, const std::vector<nest::Node>& nodes, std::set<int>& written,
          std::set<int>& allocated) {
  for (const nest::Node& node : nodes) {
    if (const auto* loop = std::get_if<nest::Loop>(&node.value)) scan(program, loop->body, written, allocated);
    if (const auto* loop = std::get_if<nest::FusedLoop>(&node.value)) scan(program, loop->body, written, allocated);
    if (const auto* branch = std::get_if<nest::Branch>(&node.value)) {
      for (const auto& segment : branch->segments) scan(program, segment.body, written, allocated);
    }
    if (const auto* allocate = std::get_if<nest::Allocate>(&node.value)) allocated.insert(allocate->storage);
    if (const auto* statement = std::get_if<nest::Statement>(&node.value)) {
      if (program.storages[static_cast<std::size_t>(statement->storage)].kind == nest::StorageKind::Register)
        written.insert(statement->storage);
    }
  }
}

}  // namespace

std::vector<Slot>& Lowering::slots(int storage, int component) {
  auto& components = registers_[static_cast<std::size_t>(storage)];
  TEMPER_CHECK(!components.empty(), "a register stage is used before it is allocated");
  return components[static_cast<std::size_t>(component)];
}

std::vector<Lowering::Carried> Lowering::carried_by(const std::vector<const std::vector<nest::Node>*>& bodies) const {
  std::set<int> written, allocated;
  for (const auto* body : bodies) scan(program_, *body, written, allocated);
  std::vector<Carried> out;
  std::map<std::pair<Value, int>, std::size_t> known;
  for (int storage : written) {
    if (allocated.count(storage) > 0) continue;
    const auto& components = registers_[static_cast<std::size_t>(storage)];
    for (std::size_t c = 0; c < components.size(); ++c) {
      for (std::size_t e = 0; e < components[c].size(); ++e) {
        const Slot& slot = components[c][e];
        if (slot.value == kNoValue) continue;
        const auto [at, fresh] = known.emplace(std::pair{slot.value, slot.group}, out.size());
        if (fresh) out.push_back({slot.value, {}});
        out[at->second].places.push_back({storage, c, e, slot.lane, slot.group});
      }
    }
  }
  return out;
}

std::vector<Lowering::Carried::Place> Lowering::unwritten_by(
    const std::vector<const std::vector<nest::Node>*>& bodies) const {
  std::set<int> written, allocated;
  for (const auto* body : bodies) scan(program_, *body, written, allocated);
  std::vector<Carried::Place> out;
  for (int storage : written) {
    if (allocated.count(storage) > 0) continue;
    const auto& components = registers_[static_cast<std::size_t>(storage)];
    for (std::size_t c = 0; c < components.size(); ++c) {
      for (std::size_t e = 0; e < components[c].size(); ++e) {
        if (components[c][e].value == kNoValue) out.push_back({storage, c, e, Slot::kScalar, 0});
      }
    }
  }
  return out;
}

void Lowering::forget(const std::vector<Carried::Place>& places) {
  for (const auto& place : places)
    registers_[static_cast<std::size_t>(place.storage)][place.component][place.element] = {};
}

void Lowering::replace(const std::vector<Carried>& carried, const std::vector<Value>& with) {
  for (std::size_t i = 0; i < carried.size(); ++i) {
    for (const auto& place : carried[i].places) {
      registers_[static_cast<std::size_t>(place.storage)][place.component][place.element] = {with[i], place.lane,
                                                                                             place.group};
    }
  }
}

std::vector<Value> Lowering::current(const std::vector<Carried>& carried) const {
  std::vector<Value> out;
  for (const Carried& c : carried) {
    const auto at = [&](const Carried::Place& place) -> const Slot& {
      return registers_[static_cast<std::size_t>(place.storage)][place.component][place.element];
    };
    const Value value = at(c.places.front()).value;
    for (const auto& place : c.places) {
      if (at(place).value != value || at(place).lane != place.lane) {
        refuse(place.storage, "a register stage changes the shape of its vectors inside a loop");
      }
    }
    if (emit_.type(value) != emit_.type(c.value))
      refuse(c.places.front().storage, "a register stage changes the width of its vectors inside a loop");
    out.push_back(value);
  }
  return out;
}

std::vector<std::int64_t> Lowering::register_elements(int storage, const std::vector<Affine>& index) {
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
  struct Place {
    std::int64_t first, step, extent, stride;  ///< in one dimension: of lane 0, and from lane to lane
  };
  std::vector<Place> places;
  bool one = true;
  for (const nest::StorageDim& dim : s.dims) {
    const auto axis = static_cast<std::size_t>(dim.axis);
    const Affine local = fold(index[axis] - s.base[axis]);
    std::int64_t lane_step = 0;
    for (const analysis::Term& term : local.terms) {
      if (term.var != lanes_.var)
        refuse(storage, "an index of a register stage is not constant: " + analysis::print(local, vars_));
      lane_step = term.coefficient;
    }
    places.push_back({local.constant, lane_step, dim.extent, dim.stride});
    one = one && lane_step == 0;
  }
  std::vector<std::int64_t> out;
  const int count = one ? 1 : lanes_.width;
  for (int lane = 0; lane < count; ++lane) {
    bool inside = lane < lanes_.active || count == 1;
    std::int64_t element = 0;
    for (const Place& place : places) {
      const std::int64_t at = place.first + lane * place.step;
      inside = inside && at >= 0 && at < place.extent;
      element += at * place.stride;
    }
    out.push_back(inside ? element : -1);
  }
  return out;
}

const std::vector<Value>& Lowering::transposed(const std::vector<Value>& rows) {
  const auto found = transposes_.find(rows);
  if (found != transposes_.end()) return found->second;
  std::vector<Value> m = rows;
  const int n = static_cast<int>(rows.size());
  for (int step = 1; step < n; step *= 2) {
    std::vector<int> low(static_cast<std::size_t>(n)), high(static_cast<std::size_t>(n));
    for (int lane = 0; lane < n; ++lane) {
      low[static_cast<std::size_t>(lane)] = (lane & step) == 0 ? lane : n + lane - step;
      high[static_cast<std::size_t>(lane)] = (lane & step) == 0 ? lane + step : n + lane;
    }
    for (int i = 0; i < n; ++i) {
      if ((i & step) != 0) continue;
      const Value a = m[static_cast<std::size_t>(i)], b = m[static_cast<std::size_t>(i + step)];
      m[static_cast<std::size_t>(i)] = emit_.pure(Op::Shuffle, emit_.type(a), {a, b}, 0, low);
      m[static_cast<std::size_t>(i + step)] = emit_.pure(Op::Shuffle, emit_.type(a), {a, b}, 0, high);
    }
  }
  return transposes_.emplace(rows, std::move(m)).first->second;
}

Value Lowering::read_register(int storage, int component, const std::vector<std::int64_t>& elements) {
  const std::vector<Slot>& all = slots(storage, component);
  // Lanes that do not take part may index outside.
  const auto known = std::find_if(elements.begin(), elements.end(), [](std::int64_t e) { return e >= 0; });
  if (known == elements.end()) {
    const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
    const auto& dtypes = program_.stages[static_cast<std::size_t>(s.stage)]->dtypes;
    return emit_.undef({value_scalar(dtypes[static_cast<std::size_t>(component)]), static_cast<int>(elements.size())});
  }
  const auto slot = [&](std::int64_t element) -> const Slot& {
    const Slot& s = all[static_cast<std::size_t>(element)];
    if (s.value == kNoValue) refuse(storage, "an element of a register stage is read before it is written");
    return s;
  };
  if (elements.size() == 1) {
    const Slot& s = slot(elements[0]);
    return s.lane < 0 ? s.value : emit_.extract(s.value, s.lane);
  }
  const int width = static_cast<int>(elements.size());
  const Slot& first = slot(*known);
  const Type type{emit_.type(first.value).scalar, width};
  bool direct = emit_.type(first.value).lanes == width, same_lane = direct && first.lane >= 0, all_scalar = true;
  for (int lane = 0; lane < width; ++lane) {
    if (elements[static_cast<std::size_t>(lane)] < 0) continue;
    const Slot& s = slot(elements[static_cast<std::size_t>(lane)]);
    direct = direct && s.value == first.value && s.lane == lane;
    same_lane = same_lane && s.lane == first.lane && emit_.type(s.value).lanes == width;
    all_scalar = all_scalar && s.lane < 0;
  }
  if (direct) return first.value;
  if (same_lane && (width & (width - 1)) == 0) {
    std::vector<Value> rows;
    for (std::int64_t element : elements) rows.push_back(element < 0 ? emit_.undef(type) : slot(element).value);
    return transposed(rows)[static_cast<std::size_t>(first.lane)];
  }
  // Lanes of one or two vectors: a shuffle.
  std::vector<Value> sources;
  bool vectors = true;
  for (const std::int64_t element : elements) {
    if (element < 0) continue;
    const Slot& s = slot(element);
    vectors = vectors && s.lane >= 0 && emit_.type(s.value) == emit_.type(first.value);
    if (std::find(sources.begin(), sources.end(), s.value) == sources.end()) sources.push_back(s.value);
  }
  if (vectors && sources.size() <= 2) {
    const int lanes = emit_.type(first.value).lanes;
    std::vector<int> pick(elements.size(), 0);
    for (std::size_t lane = 0; lane < elements.size(); ++lane) {
      if (elements[lane] < 0) continue;
      const Slot& s = slot(elements[lane]);
      pick[lane] = s.lane + (s.value == sources.front() ? 0 : lanes);
    }
    return emit_.pure(Op::Shuffle, type, {sources.front(), sources.back()}, 0, pick);
  }
  Value out = emit_.undef(type);
  for (int lane = 0; lane < width; ++lane) {
    if (elements[static_cast<std::size_t>(lane)] < 0) continue;
    const Slot& s = slot(elements[static_cast<std::size_t>(lane)]);
    const Value scalar = s.lane < 0 ? s.value : emit_.extract(s.value, s.lane);
    out = emit_.pure(Op::Insert, type, {out, scalar}, lane);
  }
  return out;
}

void Lowering::write_register(int storage, int component, const std::vector<std::int64_t>& elements, Value value) {
  std::vector<Slot>& all = slots(storage, component);
  ++groups_;
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
  if (elements.size() == 1) {
    const bool partials = s.lane_partials > 0 && emit_.type(value).lanes > 1;
    if (elements[0] < 0) return;
    if (!partials && emit_.type(value).lanes > 1) refuse(storage, "a vector is written to one element");
    all[static_cast<std::size_t>(elements[0])] = {value, partials ? Slot::kPartials : Slot::kScalar, groups_};
    return;
  }
  value = emit_.widen(value, static_cast<int>(elements.size()));
  for (std::size_t lane = 0; lane < elements.size(); ++lane) {
    if (elements[lane] >= 0) all[static_cast<std::size_t>(elements[lane])] = {value, static_cast<int>(lane), groups_};
  }
}

}  // namespace temper::lower
