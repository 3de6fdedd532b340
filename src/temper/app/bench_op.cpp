#include "temper/app/bench_op.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include "temper/app/exclusive.h"
#include "temper/ir/oracle.h"
#include "temper/ops/epilogue.h"
#include "temper/runtime/kernel_instance.h"
#include "temper/support/clock.h"
#include "temper/support/error.h"
#include "temper/support/random.h"
#include "temper/tune/lookup.h"
#include "temper/tune/verdict.h"

namespace temper::app {

namespace {

/// Of each sample: kernels of megabytes of constants run as when nothing else used the caches.
constexpr std::int64_t kLeastCalls = 6;
/// Before each sample: as long as it takes to bring what fits the last cache back there.
constexpr double kWarmupSeconds = 5e-3;

std::string field(const tune::Task& task, std::string_view name, std::string if_absent = {}) {
  for (const auto& [key, value] : task.key.fields) {
    if (key == name) return value;
  }
  return if_absent;
}

/// Attention as the peers are given it: heads outside, none of them shared, no mask and the usual scale.
std::optional<peers::PeerWork> attention_work(const tune::Task& task) {
  if (field(task, "layout") != "bhld" || field(task, "mask") != "none" || field(task, "dtype") != "f32" ||
      field(task, "key_heads") != field(task, "heads"))
    return std::nullopt;
  peers::PeerWork work;
  work.op = task.key.op;
  for (const char* name : {"batch", "heads", "queries", "keys", "depth", "value_depth"})
    work.fields[name] = std::stoll(field(task, name));
  const double usual = 1 / std::sqrt(static_cast<double>(work.fields["depth"]));
  if (std::abs(std::stod(field(task, "scale")) - usual) > 1e-9) return std::nullopt;
  return work;
}

/// The task in the terms of the peers; nothing when they have no words for it.
std::optional<peers::PeerWork> peer_work(const tune::Task& task, bool native) {
  peers::PeerWork work;
  work.op = task.key.op;
  if (work.op == "attention") return attention_work(task);
  if (work.op != "matmul" && !peers::is_convolution(work) && work.op != "softmax" && work.op != "layernorm")
    return std::nullopt;
  if (field(task, "trans_a", "0") != "0" || field(task, "dtype", "f32") != "f32") return std::nullopt;
  if (field(task, "layout").ends_with('c') && field(task, "layout").starts_with("nchw"))
    return std::nullopt;  // blocks of channels
  for (const auto& [key, value] : task.key.fields) {
    if (key == "layout" || key == "dtype" || key == "epilogue" || key == "const" || key == "threads" ||
        key == "trans_a" || key == "epsilon")
      continue;
    // stride=2:1 and pad=1:0:1:0 name their axes one by one for the peers.
    if (value.find(':') == std::string::npos) {
      work.fields[key] = std::stoll(value);
      continue;
    }
    std::vector<std::int64_t> parts;
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t end = std::min(value.find(':', at), value.size());
      parts.push_back(std::stoll(value.substr(at, end - at)));
      at = end + 1;
    }
    if (key == "pad" && parts.size() == 4) {
      const char* names[] = {"pad_top", "pad_left", "pad_bottom", "pad_right"};
      for (std::size_t i = 0; i < 4; ++i) work.fields[names[i]] = parts[i];
    } else if (parts.size() == 2) {
      if (key == "pad") {
        work.fields["pad_top"] = work.fields["pad_bottom"] = parts[0];
        work.fields["pad_left"] = work.fields["pad_right"] = parts[1];
      } else {
        work.fields[key + "_h"] = parts[0];
        work.fields[key + "_w"] = parts[1];
      }
    } else {
      return std::nullopt;
    }
  }
  work.layout = native                                    ? peers::Layout::Native
                : field(task, "layout", "nchw") == "nhwc" ? peers::Layout::Nhwc
                                                          : peers::Layout::Nchw;
  work.constant_weights = field(task, "const", "weights") != "none";
  for (const ops::EpilogueItem& item : ops::parse_epilogue(field(task, "epilogue"))) work.epilogue.push_back(item.name);
  return work;
}

/// [n,h,w,c] from [n,c,h,w] or back.
std::vector<float> permuted(std::span<const float> from, const std::vector<std::int64_t>& dims, bool to_nhwc) {
  const std::int64_t n = dims[0], a = dims[1], b = dims[2], c = dims[3];  // of the source
  std::vector<float> out(from.size());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < a; ++j) {
      for (std::int64_t k = 0; k < b; ++k) {
        for (std::int64_t l = 0; l < c; ++l) {
          const std::int64_t at = ((i * a + j) * b + k) * c + l;
          const std::int64_t to = to_nhwc ? ((i * b + k) * c + l) * a + j : ((i * c + l) * a + j) * b + k;
          out[static_cast<std::size_t>(to)] = from[static_cast<std::size_t>(at)];
        }
      }
    }
  }
  return out;
}

double relative(std::span<const float> got, std::span<const float> expected) {
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double d = std::abs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    worst = std::isnan(d) ? std::numeric_limits<double>::infinity() : std::max(worst, d);
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return largest > 0 ? worst / largest : worst;
}

/// The task's inputs, constants and outputs, and what kernels need of their own: the same memory for every kernel of
/// ours. With memory of its own each would have its own luck with the caches.
class Data {
 public:
  /// `artifact`: of any kernel of the task.
  Data(const tune::Task& task, const codegen::Artifact& artifact, RandomStream& random) {
    std::vector<std::int64_t> bytes;
    for (const ir::StagePtr& stage : task.compute.stages) {
      if (stage->kind != ir::StageKind::Placeholder) continue;
      if (stage->dtypes[0] != ir::DType::F32)
        throw Error(ErrorCode::Unsupported, "only f32 operators can be timed", "input " + stage->name);
      std::int64_t count = 1;
      for (std::int64_t d : stage->shape()) count *= d;
      bytes.push_back(count * static_cast<std::int64_t>(sizeof(float)));
      placeholders_.push_back(stage.get());
    }
    // Outputs lie behind the inputs, as in temper-runner: the distance between them decides which meet in the caches.
    std::vector<std::string> outputs;
    const runtime::ArtifactImage image = runtime::ArtifactImage::load(artifact.bytes);
    for (const temper_buffer& buffer : image.buffers()) {
      if (buffer.role != TEMPER_OUTPUT) continue;
      outputs.emplace_back(buffer.name);
      bytes.push_back(buffer.bytes);
    }
    memory_ = runtime::BufferGroup(bytes);
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs_[outputs[i]] = memory_[placeholders_.size() + i];
    for (std::size_t i = 0; i < placeholders_.size(); ++i) {
      const std::span<std::byte> of_stage = memory_[i];
      const std::span<float> values{reinterpret_cast<float*>(of_stage.data()), of_stage.size() / sizeof(float)};
      for (float& v : values) v = static_cast<float>(random.uniform_real() * 2 - 1);
      values_[placeholders_[i]->name] = values;
    }
  }

  std::span<const ir::Stage* const> placeholders() const { return placeholders_; }
  std::span<const float> of(const std::string& name) const { return values_.at(name); }
  ir::Inputs bytes() const {
    ir::Inputs out;
    for (const auto& [name, values] : values_) out[name] = std::as_bytes(values);
    return out;
  }
  /// Memory for the output of that name, the same at every call.
  std::span<float> output(const std::string& name, std::int64_t bytes) {
    const std::span<std::byte> memory = outputs_.at(name);
    TEMPER_CHECK(static_cast<std::int64_t>(memory.size()) == bytes, "kernels of one task disagree about their output");
    return {reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float)};
  }
  runtime::TurnMemory& turns() { return turns_; }

 private:
  runtime::TurnMemory turns_;
  runtime::BufferGroup memory_;
  std::map<std::string, std::span<const float>> values_;
  std::map<std::string, std::span<std::byte>> outputs_;
  std::vector<const ir::Stage*> placeholders_;
};

/// One of Temper's kernels with its threads; borrows the data. Kernels on the same data run in turns.
class Kernel {
 public:
  Kernel(const codegen::Artifact& artifact, Data& data, int threads, std::span<const int> cpus)
      : artifact_(&artifact),
        pool_(threads, cpus.first(std::min<std::size_t>(cpus.size(), static_cast<std::size_t>(threads)))),
        turns_(&data.turns()) {
    load();
    for (const temper_buffer& buffer : kernel_->image().buffers()) {
      if (buffer.role == TEMPER_OUTPUT) {
        const std::span<float> output = data.output(buffer.name, buffer.bytes);
        outputs_.push_back(output.data());
        result_ = output;
      } else if (buffer.role == TEMPER_INPUT || buffer.role == TEMPER_CONSTANT) {
        (buffer.role == TEMPER_INPUT ? inputs_ : constants_).push_back(data.of(buffer.name).data());
      }
    }
    take_turn();
  }

  /// Has to come before `run` where another kernel ran.
  void take_turn() {
    const runtime::TurnMemory::Turn turn = turns_->take(user_, kernel_->own_bytes());
    if (!turn.is_new) return;
    kernel_->move_to(turn.memory);
    kernel_->prepare(constants_);
  }
  /// Loads the code anew, at another place; then `take_turn`. Addresses decide on much of a small kernel's time.
  void load() {
    // The former image goes afterwards, so that the new one does not take its place.
    kernel_ = std::make_unique<runtime::KernelInstance>(runtime::ArtifactImage::load(artifact_->bytes), pool_);
    user_ = turns_->enter();
  }
  void run() { kernel_->run(inputs_, outputs_); }
  /// Runs, and gives what it computed: valid until another kernel on the same data runs.
  std::span<const float> result() {
    take_turn();
    run();
    return result_;
  }

 private:
  const codegen::Artifact* artifact_;
  runtime::ThreadPool pool_;
  std::unique_ptr<runtime::KernelInstance> kernel_;
  runtime::TurnMemory* turns_;
  std::uint64_t user_ = 0;
  std::vector<const void*> inputs_, constants_;
  std::vector<void*> outputs_;
  std::span<const float> result_;
};

/// Largest difference from the oracle over the largest output, at two corners and random elements.
double oracle_error(const tune::Task& task, const Data& data, std::span<const float> result, RandomStream& random) {
  ir::Oracle oracle(task.compute, data.bytes());
  const ir::Stage& output = *task.compute.outputs[0];
  double largest = 0, worst = 0;
  for (float v : result) largest = std::max(largest, std::abs(static_cast<double>(v)));
  for (int point = 0; point < 64; ++point) {
    std::vector<std::int64_t> index;
    std::int64_t flat = 0;
    for (std::int64_t extent : output.shape()) {
      const std::int64_t i = point == 0 ? 0 : point == 1 ? extent - 1 : random.uniform_int(0, extent - 1);
      index.push_back(i);
      flat = flat * extent + i;
    }
    const double expected = oracle.at(output, index).value;
    const auto value = static_cast<double>(result[static_cast<std::size_t>(flat)]);
    if (std::isnan(expected) && std::isnan(value)) continue;
    const double distance = std::abs(expected - value);
    worst = std::isnan(distance) ? std::numeric_limits<double>::infinity() : std::max(worst, distance);
  }
  return largest > 0 ? worst / largest : worst;
}

/// Gives the peer the task's data and lets it compute once; the largest relative difference of `result` from its
/// output.
double prepare_peer(peers::Peer& peer, const tune::Task& task, const peers::PeerWork& work, const Data& data,
                    std::span<const float> result) {
  if (const auto refusal = peers::refusal(peers::peer_info(peer.name()), work))
    throw Error(ErrorCode::Unsupported, *refusal);
  const bool nhwc = field(task, "layout") == "nhwc";
  const std::vector<peers::TensorSpec> specs = peers::input_specs(work);
  TEMPER_CHECK(specs.size() == data.placeholders().size(), "the peers' inputs differ in number from the definition's");
  std::vector<peers::Tensor> given;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ir::Stage& placeholder = *data.placeholders()[i];
    const std::span<const float> own = data.of(placeholder.name);
    const bool activation = peers::is_convolution(work) && (specs[i].name == "in" || specs[i].name.starts_with("add"));
    const bool permute = activation && nhwc && work.layout != peers::Layout::Nhwc;
    const std::vector<float> turned = permute ? permuted(own, placeholder.shape(), false) : std::vector<float>{};
    given.push_back(peers::Tensor::f32(specs[i].name, specs[i].dims, permute ? turned : own));
  }
  peer.prepare(work, std::move(given));
  peer.run(1, 0);
  const std::vector<peers::Tensor> theirs = peer.outputs();
  std::vector<float> expected(theirs.front().as_f32().begin(), theirs.front().as_f32().end());
  if (peers::is_convolution(work) && nhwc && work.layout != peers::Layout::Nhwc)
    expected = permuted(expected, theirs.front().dims, true);
  return relative(result, expected);
}

}  // namespace

std::vector<OpTimes> bench_op(std::span<const Contest> contests, const BenchOptions& options) {
  TEMPER_CHECK(!contests.empty(), "nothing to time");
  TEMPER_CHECK(!options.cpus.empty(), "no CPU to run on");
  runtime::pin_current_thread(options.cpus[0]);
  const SystemClock clock;
  RandomStream random(options.seed);
  Data data(contests.front().task, contests.front().built.artifact, random);

  std::vector<OpTimes> out(contests.size());
  std::deque<Kernel> kernels;
  std::vector<peers::Side> sides;
  for (std::size_t c = 0; c < contests.size(); ++c) {
    const Contest& contest = contests[c];
    out[c].record = contest.built.record;
    if (!contest.built.note.empty()) out[c].notes.push_back(contest.built.note);
    Kernel& kernel = kernels.emplace_back(contest.built.artifact, data, contest.task.threads, options.cpus);
    out[c].max_error = oracle_error(contest.task, data, kernel.result(), random);
    peers::Side side = peers::side_of("temper", [&kernel] { kernel.run(); }, clock);
    // In blocks, each of which loads the code anew: as tuning times the kernels of its final.
    sides.push_back(
        {side.name, [&kernel, taken = 0, run = std::move(side.run)](std::int64_t calls, std::int64_t warmup) mutable {
           if (taken++ % tune::kBlockRounds == 0) kernel.load();
           kernel.take_turn();
           return run(calls, warmup);
         }});
  }
  struct Seat {
    std::size_t contest;
    peers::Peer* peer;
  };
  std::vector<Seat> seats;
  for (std::size_t c = 0; c < contests.size(); ++c) {
    const std::optional<peers::PeerWork> work = peer_work(contests[c].task, options.native);
    for (peers::Peer& peer : contests[c].peers) {
      options.cancellation.throw_if_requested();
      try {
        if (!work) throw Error(ErrorCode::Unsupported, "this operator is none of the peer's");
        if (const std::string epsilon = field(contests[c].task, "epsilon");
            !epsilon.empty() && std::stof(epsilon) != peers::kLayerNormEpsilon)
          throw Error(ErrorCode::Unsupported, "peers normalise with an epsilon of 1e-5, not " + epsilon);
        const double error = prepare_peer(peer, contests[c].task, *work, data, kernels[c].result());
        out[c].max_error = std::max(out[c].max_error, error);
        seats.push_back({c, &peer});
        sides.push_back(peers::side_of(peer));
      } catch (const Error& error) {
        out[c].notes.push_back(std::string(peer.name()) + ": " + error.message());
      }
    }
  }

  peers::InterleaveOptions interleave;
  interleave.rounds = options.rounds;
  interleave.least_seconds = options.least_seconds;
  interleave.seed = options.seed;
  interleave.least_calls = kLeastCalls;
  interleave.warmup_seconds = kWarmupSeconds;
  interleave.cancellation = options.cancellation;
  const std::vector<peers::SideTimes> times = interleave_alone(sides, interleave);
  for (std::size_t c = 0; c < contests.size(); ++c) out[c].temper = times[c];
  for (std::size_t i = 0; i < seats.size(); ++i) {
    OpTimes& to = out[seats[i].contest];
    const peers::SideTimes& theirs = times[contests.size() + i];
    PeerTime entry{std::string(seats[i].peer->name()), seats[i].peer->version(), theirs,
                   peers::ratio(theirs, to.temper)};
    to.best_ratio = to.best_ratio == 0 ? entry.ratio : std::min(to.best_ratio, entry.ratio);
    to.peers.push_back(std::move(entry));
  }
  return out;
}

}  // namespace temper::app
