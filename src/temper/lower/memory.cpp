// Addresses, loads and stores.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "temper/lower/lowering.h"
#include "temper/support/error.h"
#include "temper/target/cpu.h"

namespace temper::lower {

using analysis::Term;
using analysis::VarKind;

Affine Lowering::fold(const Affine& form) {
  Affine out(form.constant);
  for (const Term& term : form.terms) {
    if (vars_[term.var].kind != VarKind::Loop) {
      const analysis::VarInfo info = vars_[term.var];
      const Affine operand = fold(info.operand);
      out.add_scaled(
          info.kind == VarKind::FloorDiv ? vars_.floor_div(operand, info.divisor) : vars_.mod(operand, info.divisor),
          term.coefficient);
      continue;
    }
    const Binding& binding = bindings_[static_cast<std::size_t>(term.var)];
    if (binding.kind == Binding::Kind::Constant) {
      out.constant += binding.constant * term.coefficient;
    } else {
      TEMPER_CHECK(binding.kind != Binding::Kind::Unbound,
                   "a loop variable is used outside its loop: " + vars_[term.var].name);
      out.add_scaled(Affine::of(term.var), term.coefficient);
    }
  }
  return out;
}

bool Lowering::lane_dependent(const Affine& form) { return lanes_.var >= 0 && vars_.depends_on(form, lanes_.var); }

Affine Lowering::flat_offset(int storage, const std::vector<Affine>& index) {
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
  Affine out;
  for (const nest::StorageDim& dim : s.dims) {
    const auto axis = static_cast<std::size_t>(dim.axis);
    Affine part = fold(index[axis] - s.base[axis]);
    if (dim.divisor != 1) part = vars_.floor_div(part, dim.divisor);
    if (dim.modulus != 0) part = vars_.mod(part, dim.modulus);
    out.add_scaled(part, dim.stride);
  }
  return vars_.rejoin(std::move(out));
}

Value Lowering::with_displacement(Value base, std::int64_t displacement) {
  if (displacement == 0) return base;
  return emit_.pure(Op::Add, {Scalar::I64, 1}, {base, emit_.const_int(displacement)}, 0, {}, true);
}

Value Lowering::materialise(const Affine& form) {
  if (form.is_constant()) return emit_.const_int(form.constant);
  // Outer variables first, so that partial sums are computed in the outermost block that has them.
  std::vector<std::pair<Value, std::int64_t>> parts;
  for (const Term& term : form.terms) {
    const analysis::VarInfo info = vars_[term.var];
    Value v = kNoValue;
    if (info.kind == VarKind::Loop) {
      v = bindings_[static_cast<std::size_t>(term.var)].value;
    } else {
      v = emit_.binary(info.kind == VarKind::FloorDiv ? Op::FloorDiv : Op::Mod, materialise(info.operand),
                       emit_.const_int(info.divisor));
    }
    parts.emplace_back(v, term.coefficient);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const auto& a, const auto& b) { return emit_.level_of(a.first) < emit_.level_of(b.first); });
  Value sum = kNoValue;
  for (const auto& [v, coefficient] : parts) {
    const Value scaled = coefficient == 1 ? v : emit_.binary(Op::Mul, v, emit_.const_int(coefficient));
    sum = sum == kNoValue ? scaled : emit_.binary(Op::Add, sum, scaled);
  }
  return with_displacement(sum, form.constant);
}

Value Lowering::materialise_lanes(const Affine& form) {
  const int width = lanes_.width;
  Affine uniform(form.constant);
  Value sum = kNoValue;
  const auto add = [&](Value v, std::int64_t coefficient) {
    if (coefficient != 1) v = emit_.binary(Op::Mul, v, emit_.const_int(coefficient, {Scalar::I64, width}));
    sum = sum == kNoValue ? v : emit_.binary(Op::Add, sum, v);
  };
  for (const Term& term : form.terms) {
    if (!lane_dependent(Affine::of(term.var))) {
      uniform += Affine::of(term.var, term.coefficient);
      continue;
    }
    if (term.var == lanes_.var) {
      add(emit_.iota(width), term.coefficient);
    } else {
      const analysis::VarInfo info = vars_[term.var];
      const Value operand = materialise_lanes(info.operand);
      add(emit_.binary(info.kind == VarKind::FloorDiv ? Op::FloorDiv : Op::Mod, operand,
                       emit_.const_int(info.divisor, {Scalar::I64, width})),
          term.coefficient);
    }
  }
  const Value base = emit_.widen(materialise(uniform), width);
  return sum == kNoValue ? base : emit_.binary(Op::Add, base, sum);
}

int Lowering::buffer_of(int storage, int component) {
  const auto& components = buffers_[static_cast<std::size_t>(storage)];
  TEMPER_CHECK(!components.empty(), "a stage in memory is used before it is allocated");
  return components[static_cast<std::size_t>(component)];
}

void Lowering::forget_loads(int storage) {
  for (auto& known : loads_) {
    std::erase_if(known, [&](const auto& entry) { return std::get<0>(entry.first) == storage; });
  }
}

Value Lowering::access_lanes(const Mask& mask) { return emit_.logical_and(mask.lanes, mask.tail); }

Value Lowering::reads_shared(int buffer, const std::optional<Affine>& offset, const Mask& mask) {
  if (!mask.maybe_empty) return mask.uniform;
  if (offset) {
    const analysis::Interval range = vars_.range(*offset);
    if (range.lo >= 0 && range.hi < kernel_.buffers[static_cast<std::size_t>(buffer)].elements) return mask.uniform;
  }
  const Value lanes = access_lanes(mask);
  Value any = emit_.extract(lanes, 0);
  for (int lane = 1; lane < emit_.type(lanes).lanes; ++lane)
    any = emit_.binary(Op::Or, any, emit_.extract(lanes, lane));
  return emit_.logical_and(mask.uniform, any);
}

Value Lowering::load(int storage, int component, const std::vector<Affine>& index, const Mask& mask) {
  if (in_registers(storage)) return read_register(storage, component, register_elements(storage, index));
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
  const ir::DType dtype =
      program_.stages[static_cast<std::size_t>(s.stage)]->dtypes[static_cast<std::size_t>(component)];
  const Scalar scalar = scalar_of(dtype);
  const int buffer = buffer_of(storage, component);
  const Affine offset = flat_offset(storage, index);
  const bool per_lane = lane_dependent(offset);
  const std::int64_t step = per_lane ? offset.coefficient(lanes_.var) : 0;
  Affine rest = offset;
  if (step != 0) rest = rest - Affine::of(lanes_.var, step);
  const bool regular = !lane_dependent(rest);
  const Value lanes = per_lane ? access_lanes(mask) : kNoValue;
  Value out;
  if (!per_lane) {
    out = load_run(storage, buffer, {scalar, 1}, component, rest, kNoValue, reads_shared(buffer, rest, mask));
  } else if (regular && step == 1) {
    out = load_run(storage, buffer, {scalar, lanes_.width}, component, rest, lanes, mask.uniform);
  } else if (regular && step > 1 && step <= target::kShortStride) {
    out = load_strided(storage, buffer, {scalar, lanes_.width}, component, rest, step, lanes, mask.uniform);
  } else {
    Value active = lanes;
    if (mask.uniform != kNoValue) active = emit_.logical_and(emit_.widen(mask.uniform, lanes_.width), active);
    const LoadKey key{storage, component, materialise_lanes(offset), 0, lanes_.width, active};
    out = known_load(key);
    if (out == kNoValue) {
      out = emit_.gather(buffer, std::get<2>(key), scalar, active);
      loads_.back()[key] = out;
    }
  }
  if (lanes != kNoValue) masked_loads_.insert_or_assign(out, mask);
  return dtype == ir::DType::Bool ? boolean(out) : out;
}

Value Lowering::zeroed(Value v, Value keep) {
  const auto load = masked_loads_.find(v);
  if (load != masked_loads_.end() && (load->second.lanes == keep || access_lanes(load->second) == keep)) return v;
  const Type type = emit_.type(v);
  return emit_.select(keep, v, is_float(type.scalar) ? emit_.const_float(0, type) : emit_.const_int(0, type));
}

Value Lowering::known_load(const LoadKey& key) const {
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(std::get<0>(key))];
  const bool read_only = s.kind == nest::StorageKind::Input || s.kind == nest::StorageKind::Constant ||
                         (s.kind == nest::StorageKind::Blob && program_.phases.size() > 1);
  for (std::size_t level = loads_.size(); level-- > 0;) {
    const auto found = loads_[level].find(key);
    if (found != loads_[level].end()) return found->second;
    if (!read_only) break;
  }
  return kNoValue;
}

Value Lowering::load_run(int storage, int buffer, Type type, int component, const Affine& from, Value lanes,
                         Value uniform) {
  Affine variable = from;
  variable.constant = 0;
  const Value base = variable.is_constant() ? kNoValue : materialise(variable);
  const LoadKey key{storage, component, base, from.constant, type.lanes, lanes};
  if (uniform == kNoValue) {
    if (const Value known = known_load(key); known != kNoValue) return known;
  }
  Value at = base == kNoValue ? emit_.const_int(from.constant) : with_displacement(base, from.constant);
  if (uniform != kNoValue) {
    at = emit_.select(uniform, at, emit_.const_int(0));
    if (type.lanes > 1) lanes = emit_.logical_and(emit_.widen(uniform, type.lanes), lanes);
  }
  const Value out = emit_.load(buffer, at, type, lanes);
  if (uniform == kNoValue) loads_.back()[key] = out;
  return out;
}

Value Lowering::load_strided(int storage, int buffer, Type type, int component, const Affine& from, std::int64_t step,
                             Value lanes, Value uniform) {
  const int width = type.lanes, stride = static_cast<int>(step), last = stride * (width - 1);
  std::vector<int> start;  // of each run, in elements behind `from`; the last run ends with the last lane's element
  for (int at = 0; at < last - (width - 1); at += width) start.push_back(at);
  start.push_back(last - (width - 1));
  Value out = kNoValue;
  for (const int first : start) {
    Value active = kNoValue;
    if (lanes != kNoValue) {
      // An element between those of two active lanes is inside the buffer too.
      std::vector<int> below, above;
      for (int i = first; i < first + width; ++i) {
        below.push_back(i / stride);
        above.push_back((i + stride - 1) / stride);
      }
      const Type mask_type = emit_.type(lanes);
      active = emit_.logical_and(emit_.pure(Op::Shuffle, mask_type, {lanes, lanes}, 0, below),
                                 emit_.pure(Op::Shuffle, mask_type, {lanes, lanes}, 0, above));
    }
    Affine run_from = from;
    run_from.constant += first;
    const Value run = load_run(storage, buffer, type, component, run_from, active, uniform);
    std::vector<int> pick;
    for (int i = 0; i < width; ++i) {
      const int at = stride * i - first;
      pick.push_back(at >= 0 && at < width ? width + at : i);  // lanes of earlier runs stay
    }
    out = emit_.pure(Op::Shuffle, type, {out == kNoValue ? run : out, run}, 0, pick);
  }
  return out;
}

Value Lowering::load_at(int storage, int component, const std::vector<Value>& index, const Mask& mask) {
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
  const ir::DType dtype =
      program_.stages[static_cast<std::size_t>(s.stage)]->dtypes[static_cast<std::size_t>(component)];
  if (in_registers(storage)) refuse(storage, "a register stage is indexed by values known only at run time");
  int width = 1;
  for (Value v : index) width = std::max(width, emit_.type(v).lanes);
  Value sum = kNoValue;
  for (const nest::StorageDim& dim : s.dims) {
    if (dim.divisor != 1 || dim.modulus != 0)
      refuse(storage, "a stage with a layout is indexed by values known only at run time");
    const auto axis = static_cast<std::size_t>(dim.axis);
    Value v = emit_.cast(index[axis], Scalar::I64);
    const Affine base = fold(s.base[axis]);
    if (!(base == Affine(0))) v = emit_.binary(Op::Sub, v, emit_.widen(materialise(base), emit_.type(v).lanes));
    if (dim.stride != 1) v = emit_.binary(Op::Mul, v, emit_.const_int(dim.stride, emit_.type(v)));
    v = emit_.widen(v, width);
    sum = sum == kNoValue ? v : emit_.binary(Op::Add, sum, v);
  }
  if (sum == kNoValue) sum = emit_.const_int(0);
  const int buffer = buffer_of(storage, component);
  Value out;
  if (width == 1) {
    if (const Value reads = reads_shared(buffer, std::nullopt, mask); reads != kNoValue)
      sum = emit_.select(reads, sum, emit_.const_int(0));
    out = emit_.load(buffer, sum, {scalar_of(dtype), 1});
  } else {
    Value active = access_lanes(mask);
    if (mask.uniform != kNoValue) active = emit_.logical_and(emit_.widen(mask.uniform, width), active);
    out = emit_.gather(buffer, sum, scalar_of(dtype), active);
  }
  return dtype == ir::DType::Bool ? boolean(out) : out;
}

void Lowering::store(int storage, int component, const std::vector<Affine>& index, Value value, const Mask& mask) {
  if (in_registers(storage)) return write_register(storage, component, register_elements(storage, index), value);
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
  const ir::DType dtype =
      program_.stages[static_cast<std::size_t>(s.stage)]->dtypes[static_cast<std::size_t>(component)];
  const Value plain = value;
  value = stored(value, dtype);
  const int buffer = buffer_of(storage, component);
  const Affine offset = flat_offset(storage, index);
  forget_loads(storage);
  Instr branch;
  if (mask.uniform != kNoValue) {
    branch.op = Op::If;
    branch.args = {mask.uniform};
    branch.control = std::make_shared<Control>();
    emit_.open(branch.control->body);
  }
  if (!lane_dependent(offset)) {
    TEMPER_CHECK(emit_.type(value).lanes == 1, "a vector is stored to one element");
    emit_.store(buffer, materialise(offset), value);
  } else {
    value = emit_.widen(value, lanes_.width);
    const std::int64_t step = offset.coefficient(lanes_.var);
    const Affine rest = offset - Affine::of(lanes_.var, step);
    if (step == 1 && !lane_dependent(rest)) {
      emit_.store(buffer, materialise(rest), value, access_lanes(mask));
      if (mask.uniform == kNoValue && access_lanes(mask) == kNoValue) {
        // Whoever reads the elements back in this block gets the value itself.
        Affine variable = rest;
        variable.constant = 0;
        const Value base = variable.is_constant() ? kNoValue : materialise(variable);
        loads_.back()[{storage, component, base, rest.constant, lanes_.width, kNoValue}] =
            emit_.widen(plain, lanes_.width);
      }
    } else {
      emit_.scatter(buffer, materialise_lanes(offset), value, access_lanes(mask));
    }
  }
  if (mask.uniform != kNoValue) {
    emit_.close();
    emit_.append(std::move(branch));
  }
}

void Lowering::node(const nest::Prefetch& prefetch) {
  constexpr std::int64_t kLineBytes = 64, kMostElements = 4096, kMostLines = 64;
  const nest::Storage& s = program_.storages[static_cast<std::size_t>(prefetch.storage)];
  const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
  const auto refuse_lines = [&](std::int64_t lines) {
    throw Error(ErrorCode::Unsupported, "a prefetch of " + std::to_string(lines) + " cache lines",
                "stage " + stage.name, "prefetch in a loop further inside");
  };
  if (prefetch.lines > 0) {
    if (prefetch.lines > kMostLines) refuse_lines(prefetch.lines);
    for (std::size_t c = 0; c < stage.dtypes.size(); ++c) {
      const std::int64_t line = kLineBytes / ir::bytes(stage.dtypes[c]);
      Affine at = flat_offset(prefetch.storage, prefetch.base);
      at.add_scaled(fold(prefetch.first), line);
      for (std::int64_t i = 0; i < prefetch.lines; ++i)
        emit_.prefetch(buffer_of(prefetch.storage, static_cast<int>(c)), materialise(at + Affine(i * line)));
    }
    return;
  }
  std::int64_t elements = 1;
  for (std::int64_t extent : prefetch.extent) {
    elements *= extent;
    if (elements > kMostElements) {
      throw Error(ErrorCode::Unsupported, "a prefetch of more than " + std::to_string(kMostElements) + " elements",
                  "stage " + stage.name, "prefetch in a loop further inside");
    }
  }
  // Displacements of the box's elements by what they are displacements from.
  std::vector<std::pair<Affine, std::set<std::int64_t>>> places;
  for (std::int64_t e = 0; e < elements; ++e) {
    std::vector<Affine> index = prefetch.base;
    std::int64_t rest = e;
    for (std::size_t i = index.size(); i-- > 0; rest /= prefetch.extent[i])
      index[i].constant += rest % prefetch.extent[i];
    Affine base = flat_offset(prefetch.storage, index);
    const std::int64_t displacement = std::exchange(base.constant, 0);
    auto found = std::find_if(places.begin(), places.end(), [&](const auto& place) { return place.first == base; });
    if (found == places.end()) found = places.insert(places.end(), {base, {}});
    found->second.insert(displacement);
  }
  for (std::size_t c = 0; c < stage.dtypes.size(); ++c) {
    const std::int64_t line = kLineBytes / ir::bytes(stage.dtypes[c]);
    std::vector<Affine> lines;
    for (const auto& [base, displacements] : places) {
      std::optional<std::int64_t> last;
      for (const std::int64_t displacement : displacements) {
        if (last && displacement - *last < line) continue;
        last = displacement;
        lines.push_back(base + Affine(displacement));
      }
    }
    if (std::ssize(lines) > kMostLines) refuse_lines(std::ssize(lines));
    for (const Affine& at : lines) emit_.prefetch(buffer_of(prefetch.storage, static_cast<int>(c)), materialise(at));
  }
}

}  // namespace temper::lower
