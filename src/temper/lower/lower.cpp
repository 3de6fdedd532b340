#include "temper/lower/lower.h"

#include "temper/lower/lowering.h"
#include "temper/support/error.h"

namespace temper::lower {

using nest::StorageKind;
using schedule::Annotation;

Lowering::Lowering(const nest::Program& program, const LowerOptions& options)
    : program_(program),
      options_(options),
      vars_(program.vars),
      emit_(kernel_),
      bindings_(program.vars.size()),
      registers_(program.storages.size()),
      buffers_(program.storages.size()) {}

void Lowering::refuse(int storage, const std::string& what) const {
  const int stage = program_.storages[static_cast<std::size_t>(storage)].stage;
  throw Error(ErrorCode::Unsupported, what, "stage " + program_.stages[static_cast<std::size_t>(stage)]->name,
              "a register stage needs every loop between its storage and its uses unrolled or vectorised");
}

namespace {

constexpr std::int64_t kAlignment = 64;

BufferRole role_of(StorageKind kind) {
  switch (kind) {
    case StorageKind::Input: return BufferRole::Input;
    case StorageKind::Constant: return BufferRole::Constant;
    case StorageKind::Output: return BufferRole::Output;
    case StorageKind::Blob: return BufferRole::Blob;
    case StorageKind::Workspace: return BufferRole::Workspace;
    default: return BufferRole::Scratch;
  }
}

/// Stages that a phase's statements read or prefetch.
void collect_reads(const std::vector<nest::Node>& nodes, std::set<int>& out) {
  for (const nest::Node& node : nodes) {
    if (const auto* loop = std::get_if<nest::Loop>(&node.value)) collect_reads(loop->body, out);
    if (const auto* loop = std::get_if<nest::FusedLoop>(&node.value)) collect_reads(loop->body, out);
    if (const auto* branch = std::get_if<nest::Branch>(&node.value)) {
      for (const auto& segment : branch->segments) collect_reads(segment.body, out);
    }
    if (const auto* statement = std::get_if<nest::Statement>(&node.value)) {
      for (const auto& [stage, storage] : statement->reads) out.insert(storage);
    }
    // Also where every read is folded away.
    if (const auto* prefetch = std::get_if<nest::Prefetch>(&node.value)) out.insert(prefetch->storage);
  }
}

}  // namespace

void Lowering::declare_buffers() {
  std::set<int> read_by_run;
  for (const nest::Phase& phase : program_.phases) {
    if (!phase.prepare) collect_reads(phase.body, read_by_run);
  }
  const auto storage_of = [&](int stage) {
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      const StorageKind kind = program_.storages[i].kind;
      if (program_.storages[i].stage == stage && kind != StorageKind::Local && kind != StorageKind::Register)
        return static_cast<int>(i);
    }
    TEMPER_CHECK(false, "a stage at root has no storage");
    return -1;
  };
  const auto declare = [&](int storage) {
    const nest::Storage& s = program_.storages[static_cast<std::size_t>(storage)];
    const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
    for (std::size_t c = 0; c < stage.dtypes.size(); ++c) {
      const std::string name = stage.name + (c == 0 ? "" : "." + std::to_string(c));
      const BufferRole role = role_of(s.kind);
      const bool used = role != BufferRole::Constant || read_by_run.count(storage) > 0;
      buffers_[static_cast<std::size_t>(storage)].push_back(static_cast<int>(kernel_.buffers.size()));
      kernel_.buffers.push_back(
          {name, role, stage.dtypes[c], s.elements, 0, static_cast<int>(kernel_.arguments.size()), used});
      kernel_.arguments.push_back({name, role, stage.dtypes[c], s.elements * ir::bytes(stage.dtypes[c]), used});
    }
  };
  for (int pass = 0; pass < 2; ++pass) {
    for (int stage : program_.placeholders) {
      if (program_.stages[static_cast<std::size_t>(stage)]->constant == (pass == 1)) declare(storage_of(stage));
    }
  }
  for (int stage : program_.outputs) declare(storage_of(stage));
  for (const auto& [kind, role, name] : {std::tuple{StorageKind::Blob, BufferRole::Blob, "blob"},
                                         std::tuple{StorageKind::Workspace, BufferRole::Workspace, "workspace"}}) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < program_.storages.size(); ++i) {
      const nest::Storage& s = program_.storages[i];
      if (s.kind != kind) continue;
      const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(s.stage)];
      for (ir::DType dtype : stage.dtypes) {
        buffers_[i].push_back(static_cast<int>(kernel_.buffers.size()));
        kernel_.buffers.push_back(
            {stage.name, role, dtype, s.elements, total, static_cast<int>(kernel_.arguments.size()), true});
        total = analysis::round_up(total + s.elements * ir::bytes(dtype), kAlignment);
      }
    }
    if (total > 0) kernel_.arguments.push_back({name, role, ir::DType::U8, total, true});
  }
}

Kernel Lowering::run() && {
  declare_buffers();
  for (const nest::Phase& p : program_.phases) phase(p);
  return std::move(kernel_);
}

void Lowering::phase(const nest::Phase& p) {
  std::vector<Phase>& list = p.prepare ? kernel_.prepare : kernel_.run;
  Phase out;
  out.name = program_.stages[static_cast<std::size_t>(p.stage)]->name;
  scratch_ = scratch_peak_ = 0;
  emit_.open(out.body);
  loads_.emplace_back();
  out.index = emit_.define({Scalar::I64, 1});
  const nest::FusedLoop* parallel = p.body.size() == 1 ? std::get_if<nest::FusedLoop>(&p.body[0].value) : nullptr;
  if (parallel != nullptr && parallel->kind == Annotation::Parallel) {
    for (const auto& component : parallel->components) out.extent *= component.extent;
    bind_components(*parallel, out.index);
    block(parallel->body);
  } else {
    block(p.body);
  }
  loads_.pop_back();
  emit_.close();
  transposes_.clear();
  out.scratch_bytes = scratch_peak_;
  list.push_back(std::move(out));
}

void Lowering::bind_components(const nest::FusedLoop& loop, Value counter) {
  Value rest = counter;
  for (std::size_t i = loop.components.size(); i-- > 0;) {
    const auto& component = loop.components[i];
    Binding& binding = bindings_[static_cast<std::size_t>(component.var)];
    if (component.extent == 1) {
      binding = {Binding::Kind::Constant, 0, kNoValue};
      continue;
    }
    const Value extent = emit_.const_int(component.extent);
    bool outermost = true;
    for (std::size_t j = 0; j < i; ++j) outermost = outermost && loop.components[j].extent == 1;
    binding = {Binding::Kind::Dynamic, 0, outermost ? rest : emit_.binary(Op::Mod, rest, extent)};
    if (!outermost) rest = emit_.binary(Op::FloorDiv, rest, extent);
  }
}

void Lowering::block(const std::vector<nest::Node>& nodes) {
  const std::int64_t scratch_before = scratch_;
  for (const nest::Node& n : nodes) {
    std::visit([&](const auto& value) { node(value); }, n.value);
    if (kernel_.types.size() > static_cast<std::size_t>(options_.max_block_instructions)) {
      throw Error(ErrorCode::Unsupported,
                  "the kernel grows beyond " + std::to_string(options_.max_block_instructions) + " instructions", {},
                  "unroll less");
    }
  }
  scratch_ = scratch_before;
}

void Lowering::node(const nest::Allocate& allocate) {
  const auto index = static_cast<std::size_t>(allocate.storage);
  const nest::Storage& storage = program_.storages[index];
  const ir::Stage& stage = *program_.stages[static_cast<std::size_t>(storage.stage)];
  if (storage.kind == StorageKind::Register) {
    if (storage.elements > 4096)
      refuse(allocate.storage, "a register stage of " + std::to_string(storage.elements) + " elements");
    registers_[index].assign(stage.dtypes.size(), std::vector<Slot>(static_cast<std::size_t>(storage.elements)));
    return;
  }
  buffers_[index].clear();
  for (ir::DType dtype : stage.dtypes) {
    buffers_[index].push_back(static_cast<int>(kernel_.buffers.size()));
    kernel_.buffers.push_back({stage.name, BufferRole::Scratch, dtype, storage.elements, scratch_, -1, true});
    scratch_ = analysis::round_up(scratch_ + storage.elements * ir::bytes(dtype), kAlignment);
  }
  scratch_peak_ = std::max(scratch_peak_, scratch_);
}

void Lowering::node(const nest::Loop& loop) {
  Binding& binding = bindings_[static_cast<std::size_t>(loop.var)];
  switch (loop.kind) {
    case Annotation::Vectorized: {
      const Lanes before = lanes_;
      if (before.var >= 0)
        throw Error(ErrorCode::Unsupported, "a vectorised loop stands inside another", vars_[loop.var].name,
                    "vectorise one of them");
      lanes_ = {loop.var, loop.lanes, static_cast<int>(loop.end)};
      if (loop.lanes == 1) {
        lanes_ = before;
        binding = {Binding::Kind::Constant, 0, kNoValue};
      } else {
        binding = {Binding::Kind::Lane, 0, kNoValue};
      }
      block(loop.body);
      lanes_ = before;
      return;
    }
    case Annotation::Unrolled:
      for (std::int64_t i = loop.begin; i < loop.end; ++i) {
        bindings_[static_cast<std::size_t>(loop.var)] = {Binding::Kind::Constant, i, kNoValue};
        block(loop.body);
      }
      return;
    default: break;
  }
  if (loop.end - loop.begin == 1 && loop.lower.empty() && loop.upper.empty()) {
    binding = {Binding::Kind::Constant, loop.begin, kNoValue};
    return block(loop.body);
  }
  counted_loop(bound(loop, false), bound(loop, true), loop.var, loop.body, nullptr);
}

Value Lowering::bound(const nest::Loop& loop, bool upper) {
  Value out = emit_.const_int(upper ? loop.end : loop.begin);
  for (const nest::Bound& b : upper ? loop.upper : loop.lower) {
    // ceil(n / d) = floor((n + d - 1) / d); an upper bound is inclusive, so one more.
    Affine numerator = b.numerator;
    if (!upper) numerator.constant += b.divisor - 1;
    Affine quotient = vars_.floor_div(fold(numerator), b.divisor);
    if (upper) quotient.constant += 1;
    const Value v = materialise(quotient);
    out = emit_.binary(upper ? Op::Min : Op::Max, out, v);
  }
  return out;
}

void Lowering::counted_loop(Value begin, Value end, Var var, const std::vector<nest::Node>& body,
                            const nest::FusedLoop* fused) {
  const std::vector<Carried> carried = carried_by({&body});
  Instr instr;
  instr.op = Op::For;
  instr.args = {begin, end};
  instr.imm = 1;
  instr.control = std::make_shared<Control>();
  Control& control = *instr.control;
  for (const Carried& c : carried) control.initial.push_back(c.value);
  emit_.open(control.body);
  loads_.emplace_back();
  control.induction = emit_.define({Scalar::I64, 1});
  for (const Carried& c : carried) control.params.push_back(emit_.define(emit_.type(c.value)));
  replace(carried, control.params);
  if (fused != nullptr) {
    bind_components(*fused, control.induction);
  } else {
    bindings_[static_cast<std::size_t>(var)] = {Binding::Kind::Dynamic, 0, control.induction};
  }
  const std::vector<Carried::Place> unwritten = unwritten_by({&body});
  block(body);
  control.yields = current(carried);
  loads_.pop_back();
  emit_.close();
  forget(unwritten);
  for (const Carried& c : carried) control.results.push_back(emit_.define(emit_.type(c.value)));
  const std::vector<Value> results = control.results;
  emit_.append(std::move(instr));
  replace(carried, results);
}

void Lowering::node(const nest::FusedLoop& loop) {
  std::int64_t extent = 1;
  for (const auto& component : loop.components) extent *= component.extent;
  if (extent == 1) {
    bind_components(loop, kNoValue);
    return block(loop.body);
  }
  counted_loop(emit_.const_int(0), emit_.const_int(extent), -1, loop.body, &loop);
}

void Lowering::node(const nest::Branch& branch) { branch_from(branch, 0); }

void Lowering::branch_from(const nest::Branch& branch, std::size_t index) {
  const nest::Branch::Segment& segment = branch.segments[index];
  const Binding& outer = bindings_[static_cast<std::size_t>(branch.var)];
  const auto bind = [&] {
    bindings_[static_cast<std::size_t>(segment.refined)] =
        segment.end - segment.begin == 1 ? Binding{Binding::Kind::Constant, segment.begin, kNoValue}
                                         : bindings_[static_cast<std::size_t>(branch.var)];
  };
  if (index + 1 == branch.segments.size()) {
    bind();
    return block(segment.body);
  }
  if (outer.kind == Binding::Kind::Constant) {
    if (outer.constant >= segment.end) return branch_from(branch, index + 1);
    bind();
    return block(segment.body);
  }
  // Registers that either side writes become results of the branch.
  std::vector<const std::vector<nest::Node>*> bodies;
  for (std::size_t i = index; i < branch.segments.size(); ++i) bodies.push_back(&branch.segments[i].body);
  const std::vector<Carried> carried = carried_by(bodies);
  const std::vector<Carried::Place> unwritten = unwritten_by(bodies);
  std::vector<Value> before;
  for (const Carried& c : carried) before.push_back(c.value);
  Instr instr;
  instr.op = Op::If;
  instr.args = {emit_.compare(Op::Lt, outer.value, emit_.const_int(segment.end))};
  instr.control = std::make_shared<Control>();
  Control& control = *instr.control;
  emit_.open(control.body);
  loads_.emplace_back();
  bind();
  block(segment.body);
  control.yields = current(carried);
  loads_.pop_back();
  emit_.close();
  replace(carried, before);
  forget(unwritten);
  emit_.open(control.else_body);
  loads_.emplace_back();
  branch_from(branch, index + 1);
  control.else_yields = current(carried);
  loads_.pop_back();
  emit_.close();
  forget(unwritten);
  for (const Carried& c : carried) control.results.push_back(emit_.define(emit_.type(c.value)));
  const std::vector<Value> results = control.results;
  emit_.append(std::move(instr));
  replace(carried, results);
}

Kernel lower(const nest::Program& program, const LowerOptions& options) {
  Kernel kernel = Lowering(program, options).run();
#ifndef NDEBUG
  verify(kernel);
#endif
  return kernel;
}

}  // namespace temper::lower
