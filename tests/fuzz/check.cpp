#include "check.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "guarded_memory.h"
#include "random_schedule.h"
#include "temper/ir/oracle.h"
#include "temper/lower/kernel_interpreter.h"
#include "temper/lower/lower.h"
#include "temper/nest/build.h"
#include "temper/nest/interpreter.h"
#include "temper/target/artifact_abi.h"

namespace temper::fuzz {

namespace {

/// An artifact loaded into this process.
class Library {
 public:
  explicit Library(const codegen::Artifact& artifact) {
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    TEMPER_CHECK(write(fd, artifact.bytes.data(), artifact.bytes.size()) == static_cast<ssize_t>(artifact.bytes.size()),
                 "the artifact cannot be written");
    handle_ = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
    close(fd);
    TEMPER_CHECK(handle_ != nullptr, dlerror());
    info_ = static_cast<const temper_artifact*>(dlsym(handle_, TEMPER_ARTIFACT_SYMBOL));
    TEMPER_CHECK(info_ != nullptr, "the artifact has no symbol");
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  const temper_artifact& info() const { return *info_; }

 private:
  void* handle_ = nullptr;
  const temper_artifact* info_ = nullptr;
};

struct Run {
  const temper_artifact* info;
  std::vector<void*> buffers;
};

void run_phases(const temper_phase* phases, int count, void* const* buffers) {
  for (int i = 0; i < count; ++i) {
    const GuardedMemory scratch(static_cast<std::size_t>(phases[i].scratch_bytes));
    // Two halves, last first: phases promise that their iterations are independent.
    const std::int64_t middle = phases[i].extent / 2;
    phases[i].fn(buffers, scratch.data(), middle, phases[i].extent);
    if (middle > 0) phases[i].fn(buffers, scratch.data(), 0, middle);
  }
}

void run_artifact(void* argument) {
  const Run& run = *static_cast<Run*>(argument);
  run_phases(run.info->prepare, run.info->prepare_count, run.buffers.data());
  run_phases(run.info->run, run.info->run_count, run.buffers.data());
}

template <class T>
void fill_as(std::span<std::byte> bytes, RandomStream& random, std::int64_t low, std::int64_t high, double special) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T v = static_cast<T>(random.uniform_int(low, high));
    if constexpr (std::is_floating_point_v<T>) {
      if (special > 0 && random.chance(special)) v = std::numeric_limits<T>::infinity();
    }
    std::memcpy(bytes.data() + at, &v, sizeof(T));
  }
}

void fill(std::span<std::byte> bytes, ir::DType dtype, RandomStream& random, double special) {
  switch (dtype) {
    case ir::DType::F32: return fill_as<float>(bytes, random, -3, 3, special);
    case ir::DType::F64: return fill_as<double>(bytes, random, -3, 3, special);
    case ir::DType::I8: return fill_as<std::int8_t>(bytes, random, -3, 3, 0);
    case ir::DType::U8: return fill_as<std::uint8_t>(bytes, random, 0, 3, 0);
    case ir::DType::I32: return fill_as<std::int32_t>(bytes, random, -3, 3, 0);
    case ir::DType::I64: return fill_as<std::int64_t>(bytes, random, -3, 30, 0);
    case ir::DType::Bool: return fill_as<std::uint8_t>(bytes, random, 0, 1, 0);
  }
}

double element(const std::byte* data, ir::DType dtype, std::size_t at) {
  const auto read = [&](auto zero) {
    std::memcpy(&zero, data + at * sizeof(zero), sizeof(zero));
    return static_cast<double>(zero);
  };
  switch (dtype) {
    case ir::DType::F32: return read(0.0F);
    case ir::DType::F64: return read(0.0);
    case ir::DType::I8: return read(std::int8_t{0});
    case ir::DType::U8: return read(std::uint8_t{0});
    case ir::DType::I32: return read(std::int32_t{0});
    case ir::DType::I64: return read(std::int64_t{0});
    case ir::DType::Bool: return read(std::uint8_t{0});
  }
  return 0;
}

bool close_enough(double got, const ir::Evaluated& want, ir::DType dtype, std::int64_t terms) {
  if (std::isnan(want.value)) return std::isnan(got);
  if (std::isinf(want.value) || !ir::is_float(dtype)) return got == want.value;
  const double eps = dtype == ir::DType::F32 ? 0x1p-24 : 0x1p-53;
  return std::abs(got - want.value) <= 4 * static_cast<double>(terms + 8) * eps * want.magnitude;
}

/// Terms that enter one element of an output, at most.
std::int64_t terms_of(const ir::Compute& compute) {
  std::int64_t terms = 1;
  for (const ir::StagePtr& stage : compute.stages) {
    for (const ir::Axis& axis : stage->reduce_axes) terms += axis.extent().value();
  }
  return terms;
}

/// Empty when every output element is right; else the first that is not.
std::string compare(const ir::Compute& compute, ir::Oracle& oracle,
                    const std::function<double(std::size_t output, int component, std::size_t element)>& got) {
  const std::int64_t terms = terms_of(compute);
  for (std::size_t o = 0; o < compute.outputs.size(); ++o) {
    const ir::Stage& stage = *compute.outputs[o];
    const std::vector<std::int64_t> shape = stage.shape();
    std::size_t elements = 1;
    for (std::int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
    for (std::size_t c = 0; c < stage.dtypes.size(); ++c) {
      for (std::size_t e = 0; e < elements; ++e) {
        std::vector<std::int64_t> index(shape.size());
        std::size_t rest = e;
        for (std::size_t d = shape.size(); d-- > 0; rest /= static_cast<std::size_t>(shape[d]))
          index[d] = static_cast<std::int64_t>(rest % static_cast<std::size_t>(shape[d]));
        const ir::Evaluated want = oracle.at(stage, index, static_cast<int>(c));
        const double value = got(o, static_cast<int>(c), e);
        if (close_enough(value, want, stage.dtypes[c], terms)) continue;
        std::string at;
        for (std::int64_t i : index) at += (at.empty() ? "" : ", ") + std::to_string(i);
        return stage.name + "." + std::to_string(c) + "[" + at + "] is " + std::to_string(value) + ", not " +
               std::to_string(want.value);
      }
    }
  }
  return {};
}

/// Where the element at a row-major offset lies.
std::size_t place_of(const ir::Stage& stage, std::size_t offset) {
  const std::vector<std::int64_t> shape = stage.shape(), strides = stage.memory_strides();
  std::int64_t rest = static_cast<std::int64_t>(offset), place = 0;
  for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) place += rest % shape[i] * strides[i];
  return static_cast<std::size_t>(place);
}

/// Whether what lies between the elements of an output is as it was.
bool gaps_intact(const ir::Stage& stage, ir::DType dtype, std::span<const std::byte> before,
                 std::span<const std::byte> after) {
  const auto width = static_cast<std::size_t>(ir::bytes(dtype));
  std::vector<bool> is_gap(after.size() / width, true);
  std::size_t elements = 1;
  for (const std::int64_t extent : stage.shape()) elements *= static_cast<std::size_t>(extent);
  for (std::size_t e = 0; e < elements; ++e) is_gap[place_of(stage, e)] = false;
  for (std::size_t i = 0; i < is_gap.size(); ++i) {
    if (is_gap[i] && std::memcmp(&before[i * width], &after[i * width], width) != 0) return false;
  }
  return true;
}

/// Contents of every input, drawn from `data`.
std::map<std::string, std::vector<std::byte>> contents_of(const ir::Compute& compute, const RandomStream& data,
                                                          double special) {
  std::map<std::string, std::vector<std::byte>> out;
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind != ir::StageKind::Placeholder) continue;
    const auto size = static_cast<std::size_t>(stage->memory_elements() * ir::bytes(stage->dtypes[0]));
    std::vector<std::byte>& bytes = out[stage->name];
    bytes.resize(size);
    RandomStream contents = data.fork(stage->name);
    fill(bytes, stage->dtypes[0], contents, special);
  }
  return out;
}

/// Carries the program out with the interpreter: empty when it meets no fault and gets the oracle's result.
std::string interpreted(const ir::Compute& compute, const nest::Program& program, const RandomStream& data) {
  const auto contents = contents_of(compute, data, 0);
  ir::Inputs inputs;
  for (const auto& [name, bytes] : contents) inputs[name] = bytes;
  try {
    const nest::Interpretation run = nest::interpret(program, inputs);
    ir::Oracle oracle(compute, inputs);
    return compare(compute, oracle,
                   [&](std::size_t o, int c, std::size_t e) { return run.outputs[o][static_cast<std::size_t>(c)][e]; });
  } catch (const Error& error) {
    return error.what();
  }
}

/// Says how far the pair is right: the loop program, the kernel, or only machine code is wrong.
std::string localise(const ir::Compute& compute, const nest::Program& program, const lower::Kernel& kernel,
                     const ir::Inputs& inputs, ir::Oracle& oracle, const std::vector<GuardedMemory>& memory) {
  std::string text;
  try {
    const nest::Interpretation run = nest::interpret(program, inputs);
    const std::string wrong = compare(compute, oracle, [&](std::size_t o, int c, std::size_t e) {
      return run.outputs[o][static_cast<std::size_t>(c)][e];
    });
    text += "loop program: " + (wrong.empty() ? "right" : wrong) + "\n";
  } catch (const std::exception& error) {
    text += std::string("loop program: ") + error.what() + "\n";
  }
  try {
    lower::ArgumentMemory arguments;
    for (const GuardedMemory& m : memory) arguments.push_back(m.bytes());
    lower::interpret_prepare(kernel, arguments);
    lower::interpret_run(kernel, arguments);
    std::vector<std::vector<std::size_t>> places(compute.outputs.size());
    std::size_t at = 0;
    for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
      if (kernel.arguments[i].role != lower::BufferRole::Output) continue;
      while (places[at].size() == compute.outputs[at]->dtypes.size()) ++at;
      places[at].push_back(i);
    }
    const std::string wrong = compare(compute, oracle, [&](std::size_t o, int c, std::size_t e) {
      const auto component = static_cast<std::size_t>(c);
      const ir::Stage& stage = *compute.outputs[o];
      return element(memory[places[o][component]].data(), stage.dtypes[component], place_of(stage, e));
    });
    text += "kernel: " + (wrong.empty() ? "right" : wrong) + "\n";
  } catch (const std::exception& error) {
    text += std::string("kernel: ") + error.what() + "\n";
  }
  return text;
}

/// The loop program, or why there is none.
std::string loops_of(const schedule::Schedule& s) {
  try {
    return print(nest::build(s));
  } catch (const Error& error) {
    return error.what();
  }
}

/// Text of compute and trace gives the same schedule again.
std::string check_round_trip(const ir::Compute& compute, const schedule::Schedule& s) {
  const std::string text = print(compute);
  const ir::Compute parsed = ir::parse_compute(text);
  if (print(parsed) != text) return "the compute's text does not round-trip:\n" + print(parsed);
  if (ir::structural_hash(parsed) != ir::structural_hash(compute)) return "the parsed compute has another hash";
  const schedule::Trace trace = schedule::parse_trace(schedule::print(s.trace()));
  if (trace != s.trace()) return "the trace's text does not round-trip:\n" + schedule::print(trace);
  schedule::Schedule again(parsed);
  schedule::replay(again, trace);
  if (again.trace() != s.trace()) return "the replayed trace differs:\n" + schedule::print(again.trace());
  if (print(again) != print(s)) return "the replayed schedule differs:\n" + print(again);
  if (loops_of(again) != loops_of(s)) return "the replayed loop program differs";
  return {};
}

}  // namespace

Checker::Checker(const target::Target& target) {
  generators_.emplace_back(target);
  if (target.vector_bytes > 32) generators_.emplace_back(target::limit_vector_bytes(target, 32));
}

Outcome Checker::check(const ir::Compute& compute, const schedule::Schedule& s, RandomStream data) {
  std::string stage = "build", program_text;
  const auto failed = [&](const std::string& what) {
    return Outcome{Outcome::Kind::Failed,
                   {},
                   stage + ": " + what + "\n--- compute\n" + print(compute) + "--- trace\n" +
                       schedule::print(s.trace()) + "--- schedule\n" + print(s) + "--- loop program\n" + program_text};
  };
  try {
    stage = "round trip";
    if (const std::string wrong = check_round_trip(compute, s); !wrong.empty()) return failed(wrong);
    stage = "build";
    const nest::Program program = nest::build(s);
    program_text = print(program);
    stage = "verify";
    try {
      nest::verify(program, s);
    } catch (const schedule::ScheduleError& error) {
      return {Outcome::Kind::Refused,
              error.rule() + (interpreted(compute, program, data).empty() ? " although it runs right" : ""),
              failed(error.what()).message};
    }
    stage = "interpret";
    // What the judge lets through must run without a fault on the interpreter too.
    if (data.fork("interpret").chance(0.25)) {
      if (const std::string wrong = interpreted(compute, program, data); !wrong.empty()) return failed(wrong);
    }
    stage = "lower";
    lower::Kernel kernel = lower::lower(program);
    lower::verify(kernel);
    lower::expand_math(kernel);
    lower::verify(kernel);
    stage = "generate";
    codegen::Generator& generator = generators_[data.fork("target").below(generators_.size())];
    const codegen::Generated generated = generator.generate(kernel);
    const Library library(generated.artifact);
    stage = "run";

    std::vector<GuardedMemory> memory;
    ir::Inputs inputs;
    Run run{&library.info(), {}};
    const double special = data.chance(0.1) ? 0.02 : 0;
    const auto contents = contents_of(compute, data, special);
    std::vector<std::vector<std::size_t>> places(compute.outputs.size());
    std::size_t output = 0;
    for (int i = 0; i < library.info().buffer_count; ++i) {
      const temper_buffer& buffer = library.info().buffers[i];
      memory.emplace_back(static_cast<std::size_t>(buffer.bytes));
      const GuardedMemory& m = memory.back();
      run.buffers.push_back(m.data());
      if (buffer.role == TEMPER_INPUT || buffer.role == TEMPER_CONSTANT) {
        const std::vector<std::byte>& bytes = contents.at(buffer.name);
        std::copy(bytes.begin(), bytes.end(), m.data());
        inputs[buffer.name] = m.bytes();
      } else if (buffer.role == TEMPER_OUTPUT) {
        while (places[output].size() == compute.outputs[output]->dtypes.size()) ++output;
        places[output].push_back(static_cast<std::size_t>(i));
      }
    }
    std::vector<std::vector<std::byte>> before;
    for (const GuardedMemory& m : memory) before.emplace_back(m.bytes().begin(), m.bytes().end());
    ir::Oracle oracle(compute, inputs);
    const int signal = run_trapping_faults(run_artifact, &run);
    if (signal != 0)
      return failed("signal " + std::to_string(signal) + "\n" +
                    localise(compute, program, kernel, inputs, oracle, memory));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      if (!memory[i].intact())
        return failed("writes beside buffer " + std::string(library.info().buffers[i].name) + "\n" +
                      localise(compute, program, kernel, inputs, oracle, memory));
    }
    for (std::size_t o = 0; o < places.size(); ++o) {
      const ir::Stage& written = *compute.outputs[o];
      for (std::size_t c = 0; c < places[o].size(); ++c) {
        if (!gaps_intact(written, written.dtypes[c], before[places[o][c]], memory[places[o][c]].bytes()))
          return failed("writes between the elements of " + written.name);
      }
    }
    const std::string wrong = compare(compute, oracle, [&](std::size_t o, int c, std::size_t e) {
      const auto component = static_cast<std::size_t>(c);
      const ir::Stage& written = *compute.outputs[o];
      return element(memory[places[o][component]].data(), written.dtypes[component], place_of(written, e));
    });
    if (!wrong.empty()) return failed(wrong + "\n" + localise(compute, program, kernel, inputs, oracle, memory));
    return {};
  } catch (const schedule::ScheduleError& error) {
    return {Outcome::Kind::Refused, error.rule(), failed(error.what()).message};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Unsupported)
      return {Outcome::Kind::Refused, "Unsupported: " + error.message(), failed(error.what()).message};
    return failed(error.what());
  }
}

Outcome Checker::check_text(const std::string& compute_text, const std::string& trace, std::uint64_t data_seed) {
  const ir::Compute compute = ir::parse_compute(compute_text);
  ir::verify(compute);
  schedule::Schedule s(compute);
  schedule::replay(s, schedule::parse_trace(trace));
  return check(compute, s, RandomStream(data_seed));
}

namespace {

std::set<std::string> features_of(const schedule::Schedule& s) {
  std::set<std::string> out;
  for (const schedule::Step& step : s.trace()) {
    if (step.primitive == "fuse_axes" || step.primitive.starts_with("prefetch")) out.insert(step.primitive);
  }
  for (const schedule::StageSchedule& stage : s.stages()) {
    const bool registers = stage.scope == schedule::Scope::Register;
    if (registers) out.insert("register");
    if (!stage.definition->strides.empty()) out.insert(stage.is_placeholder() ? "input with gaps" : "output with gaps");
    if (stage.prepared) out.insert(stage.layout.empty() ? "prepared" : "prepared with a layout");
    if (!stage.layout.empty()) out.insert("layout");
    if (stage.store_set && !(stage.store.loop == stage.compute.loop)) out.insert("store_at");
    if (stage.compute.kind == schedule::PlacementKind::At) out.insert("compute_at");
    for (const schedule::Split& split : stage.splits) out.insert("tail " + std::string(to_string(split.tail)));
    if (!stage.fuses.empty()) out.insert("fuse");
    for (std::size_t i = 0; i < stage.iters.size(); ++i) {
      const schedule::Iter& iter = stage.iters[i];
      if (!iter.leaf || iter.annotation == schedule::Annotation::Serial) continue;
      std::string name(to_string(iter.annotation));
      if (iter.reduce) name += " reduce";
      if (iter.annotation == schedule::Annotation::Vectorized && registers) name += " register";
      out.insert(name);
    }
  }
  return out;
}

}  // namespace

Outcome check_seed(Checker& checker, std::uint64_t seed, Pair& pair) {
  const RandomStream root(seed);
  pair.seed = seed;
  RandomStream definition = root.fork("definition"), loops = root.fork("schedule");
  pair.definition = random_definition(definition);
  const schedule::Schedule s = random_schedule(pair.definition.compute, loops, pair.refused_primitives);
  pair.features = features_of(s);
  return checker.check(pair.definition.compute, s, root.fork("data"));
}

}  // namespace temper::fuzz
