#include "temper/runtime/plan.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "temper/support/error.h"

namespace temper::runtime {
namespace {

struct DtypeFacts {
  const char* name;
  std::int64_t bytes;
};
constexpr std::array<DtypeFacts, 7> kDtypes{
    {{"f32", 4}, {"f64", 8}, {"i8", 1}, {"u8", 1}, {"i32", 4}, {"i64", 8}, {"bool", 1}}};

const DtypeFacts& facts(temper_dtype dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  if (index >= kDtypes.size()) {
    throw Error(ErrorCode::InvalidArgument, "no element type has the number " + std::to_string(index));
  }
  return kDtypes[index];
}

std::int32_t add_unique(std::vector<Bytes>& all, Bytes bytes) {
  const auto found = std::ranges::find(all, bytes);
  const auto index = static_cast<std::int32_t>(found - all.begin());
  if (found == all.end()) all.push_back(std::move(bytes));
  return index;
}

[[noreturn]] void invalid(std::string what, std::string where) {
  throw Error(ErrorCode::InvalidModel, std::move(what), std::move(where));
}

std::string tensor_place(const Plan& plan, std::size_t tensor) {
  return "tensor " + std::to_string(tensor) + " (" + plan.tensors[tensor].name + ")";
}

std::string step_place(const Plan& plan, std::size_t step) {
  return "step " + std::to_string(step) + " (" + plan.steps[step].name + ")";
}

template <class Container>
bool is_index(const Container& items, std::int32_t index) {
  return index >= 0 && static_cast<std::size_t>(index) < items.size();
}

/// [offset, offset + bytes) lies in [0, whole), and starts where a kernel's pointer may point.
bool is_part(std::int64_t offset, std::int64_t bytes, std::int64_t whole) {
  return offset >= 0 && bytes >= 0 && bytes <= whole && offset <= whole - bytes;
}
bool is_aligned(std::int64_t offset) { return offset % static_cast<std::int64_t>(kAlignment) == 0; }

/// First and last step at which an intermediate is alive; first > last when no step touches it.
struct Lifetime {
  std::int64_t first = INT64_MAX, last = -1;
  bool overlaps(const Lifetime& other) const { return first <= other.last && other.first <= last; }
};

std::vector<Lifetime> lifetimes(const Plan& plan) {
  std::vector<Lifetime> result(plan.tensors.size());
  for (std::size_t step = 0; step < plan.steps.size(); ++step) {
    for (const Binding& binding : plan.steps[step].buffers) {
      if (binding.tensor == kNone) continue;
      Lifetime& life = result[static_cast<std::size_t>(storage_of(plan, binding.tensor).tensor)];
      life.first = std::min(life.first, static_cast<std::int64_t>(step));
      life.last = std::max(life.last, static_cast<std::int64_t>(step));
    }
  }
  for (const std::int32_t output : plan.outputs) {
    Lifetime& life = result[static_cast<std::size_t>(storage_of(plan, output).tensor)];
    if (life.last >= 0) life.last = static_cast<std::int64_t>(plan.steps.size());
  }
  return result;
}

/// The intermediates that need a place of their own.
std::vector<std::size_t> placed_tensors(const Plan& plan) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].kind == TensorKind::Intermediate && plan.tensors[i].view_of == kNone) result.push_back(i);
  }
  return result;
}

void check_strides(const PlanTensor& tensor, const std::string& where) {
  if (tensor.strides.empty()) return;
  if (tensor.view_of == kNone) invalid("only a view has gaps between its elements", where);
  if (tensor.strides.size() != tensor.shape.size()) invalid("it has not as many strides as axes", where);
  std::int64_t inner = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    std::int64_t reach = 0, bytes = 0;
    if (tensor.shape[i] < 1 || tensor.strides[i] < inner ||
        __builtin_mul_overflow(tensor.strides[i], tensor.shape[i] - 1, &reach) ||
        __builtin_add_overflow(inner, reach, &inner) ||
        __builtin_mul_overflow(inner, element_bytes(tensor.dtype), &bytes)) {
      invalid("impossible strides", where);
    }
  }
}

void check_tensor(const Plan& plan, std::size_t index) {
  const PlanTensor& tensor = plan.tensors[index];
  const std::string where = tensor_place(plan, index);
  if (tensor.dtype < TEMPER_F32 || tensor.dtype > TEMPER_BOOL) invalid("unknown element type", where);
  std::int64_t bytes = element_bytes(tensor.dtype);
  for (const std::int64_t size : tensor.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) invalid("impossible shape", where);
  }
  check_strides(tensor, where);
  const std::int64_t needed = tensor.kind == TensorKind::Output ? bytes : span_bytes(tensor);
  if (tensor.bytes < needed)
    invalid("its shape needs " + std::to_string(needed) + " bytes, it has " + std::to_string(tensor.bytes), where);
  if (tensor.view_of != kNone) {
    // `storage_of` has checked the chain of views already.
    const std::int64_t viewed = tensor.strides.empty() ? tensor.bytes : span_bytes(tensor);
    if (!is_part(tensor.view_offset, viewed, plan.tensors[static_cast<std::size_t>(tensor.view_of)].bytes)) {
      invalid("it views memory outside of " + tensor_place(plan, static_cast<std::size_t>(tensor.view_of)), where);
    }
    if (tensor.view_offset % element_bytes(tensor.dtype) != 0)
      invalid("its view is not aligned to its elements", where);
    if (tensor.kind == TensorKind::Input) invalid("an input cannot be a view", where);
  } else if (tensor.kind == TensorKind::Constant) {
    if (!is_index(plan.constants, tensor.constant)) invalid("it names no constant of the plan", where);
    if (plan.constants[static_cast<std::size_t>(tensor.constant)].size() != tensor.bytes) {
      invalid("its constant has another size", where);
    }
  } else if (tensor.kind == TensorKind::Intermediate) {
    if (!is_part(tensor.arena_offset, tensor.bytes, plan.arena_bytes)) invalid("it lies outside of the arena", where);
    if (!is_aligned(tensor.arena_offset)) invalid("its place in the arena is not aligned to 64 bytes", where);
  }
}

void check_interface(const Plan& plan, const std::vector<std::int32_t>& numbers, TensorKind kind, const char* role) {
  std::set<std::string> names;
  std::set<std::int32_t> seen;
  for (const std::int32_t number : numbers) {
    if (!is_index(plan.tensors, number))
      invalid(std::string("there is no tensor for an ") + role, std::to_string(number));
    const auto index = static_cast<std::size_t>(number);
    if (plan.tensors[index].kind != kind)
      invalid(std::string("listed as ") + role + ", but of another kind", tensor_place(plan, index));
    if (!names.insert(plan.tensors[index].name).second || !seen.insert(number).second) {
      invalid(std::string("listed twice as ") + role, tensor_place(plan, index));
    }
  }
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].kind == kind && !seen.contains(static_cast<std::int32_t>(i))) {
      invalid(std::string("of kind ") + role + ", but not listed", tensor_place(plan, i));
    }
  }
}

void check_views(const Plan& plan) {
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    std::size_t at = i, hops = 0;
    while (plan.tensors[at].view_of != kNone) {
      if (!is_index(plan.tensors, plan.tensors[at].view_of))
        invalid("it views no tensor of the plan", tensor_place(plan, at));
      at = static_cast<std::size_t>(plan.tensors[at].view_of);
      if (++hops > plan.tensors.size()) invalid("its views go round in a circle", tensor_place(plan, i));
    }
  }
}

void check_arena(const Plan& plan) {
  const std::vector<Lifetime> life = lifetimes(plan);
  std::vector<std::size_t> placed = placed_tensors(plan);
  std::erase_if(placed, [&](std::size_t i) { return life[i].last < 0 || plan.tensors[i].bytes == 0; });
  std::ranges::sort(placed, {}, [&](std::size_t i) { return plan.tensors[i].arena_offset; });
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const PlanTensor& low = plan.tensors[placed[i]];
    for (std::size_t j = i + 1; j < placed.size(); ++j) {
      if (plan.tensors[placed[j]].arena_offset >= low.arena_offset + low.bytes) break;
      if (life[placed[i]].overlaps(life[placed[j]])) {
        invalid("it shares memory with " + tensor_place(plan, placed[j]) + " while both are in use",
                tensor_place(plan, placed[i]));
      }
    }
  }
}

}  // namespace

std::int32_t Plan::add_artifact(Bytes bytes) { return add_unique(artifacts, std::move(bytes)); }
std::int32_t Plan::add_constant(Bytes bytes) { return add_unique(constants, std::move(bytes)); }

std::int64_t element_bytes(temper_dtype dtype) { return facts(dtype).bytes; }
const char* dtype_name(temper_dtype dtype) { return facts(dtype).name; }

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t span_bytes(const PlanTensor& tensor) {
  const std::int64_t width = element_bytes(tensor.dtype);
  if (tensor.strides.empty()) return element_count(tensor.shape) * width;
  std::int64_t last = 0;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) last += (tensor.shape[i] - 1) * tensor.strides[i];
  return (last + 1) * width;
}

Runs runs_of(const PlanTensor& tensor) {
  Runs runs{element_bytes(tensor.dtype), {}, {}};
  if (tensor.strides.empty()) {
    runs.bytes *= element_count(tensor.shape);
    return runs;
  }
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    const std::int64_t step = tensor.strides[i] * element_bytes(tensor.dtype);
    if (tensor.shape[i] == 1) continue;
    if (runs.counts.empty() && step == runs.bytes) {
      runs.bytes *= tensor.shape[i];
    } else {
      runs.counts.insert(runs.counts.begin(), tensor.shape[i]);
      runs.steps.insert(runs.steps.begin(), step);
    }
  }
  return runs;
}

Storage storage_of(const Plan& plan, std::int32_t tensor) {
  Storage storage{tensor, 0};
  for (;;) {
    TEMPER_CHECK(is_index(plan.tensors, storage.tensor), "a view leads to no tensor");
    const PlanTensor& at = plan.tensors[static_cast<std::size_t>(storage.tensor)];
    if (at.view_of == kNone) return storage;
    storage = {at.view_of, storage.offset + at.view_offset};
  }
}

void plan_memory(Plan& plan) {
  const std::vector<Lifetime> life = lifetimes(plan);
  std::vector<std::size_t> order = placed_tensors(plan);
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return plan.tensors[i].bytes; });

  std::vector<std::size_t> placed;  // by offset
  plan.arena_bytes = 0;
  for (const std::size_t index : order) {
    PlanTensor& tensor = plan.tensors[index];
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!life[index].overlaps(life[other])) continue;
      const PlanTensor& neighbour = plan.tensors[other];
      if (offset + tensor.bytes <= neighbour.arena_offset) break;
      offset = std::max(offset, align_up(neighbour.arena_offset + neighbour.bytes));
    }
    tensor.arena_offset = offset;
    plan.arena_bytes = std::max(plan.arena_bytes, align_up(offset + tensor.bytes));
    const auto at =
        std::ranges::upper_bound(placed, offset, {}, [&](std::size_t i) { return plan.tensors[i].arena_offset; });
    placed.insert(at, index);
  }
}

void validate(const Plan& plan) {
  check_views(plan);
  if (plan.arena_bytes < 0) invalid("the arena has a negative size", "plan");
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) check_tensor(plan, i);
  check_interface(plan, plan.inputs, TensorKind::Input, "input");
  check_interface(plan, plan.outputs, TensorKind::Output, "output");
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (!is_index(plan.artifacts, step.artifact)) invalid("it names no artifact of the plan", step_place(plan, i));
    for (const Binding& binding : step.buffers) {
      if (binding.tensor == kNone) continue;
      if (!is_index(plan.tensors, binding.tensor)) invalid("it names no tensor of the plan", step_place(plan, i));
      if (!is_part(binding.offset, 0, plan.tensors[static_cast<std::size_t>(binding.tensor)].bytes)) {
        invalid("a buffer starts outside of its tensor", step_place(plan, i));
      }
      if (!is_aligned(binding.offset)) invalid("a buffer is not aligned to 64 bytes", step_place(plan, i));
    }
  }
  check_arena(plan);
}

}  // namespace temper::runtime
