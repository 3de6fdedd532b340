#include "temper/app/inference.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "temper/app/difference.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::app {

Inference::Inference(const std::shared_ptr<const runtime::Plan>& plan, int threads, bool time_steps,
                     std::vector<int> cpus)
    : executor_(plan, {.threads = threads, .cpus = std::move(cpus), .time_steps = time_steps}) {
  const auto memory_of = [&](std::int32_t number) {
    const runtime::PlanTensor& tensor = plan->tensors[static_cast<std::size_t>(number)];
    try {
      return std::vector<std::byte>(static_cast<std::size_t>(tensor.bytes));
    } catch (const std::exception&) {
      throw Error(ErrorCode::Io, "there is no memory for the " + std::to_string(tensor.bytes) + " bytes of a tensor",
                  "tensor '" + tensor.name + "'", "use smaller shapes, or a machine with more memory");
    }
  };
  for (std::int32_t t : plan->inputs) inputs_.push_back(memory_of(t));
  for (std::int32_t t : plan->outputs) outputs_.push_back(memory_of(t));
}

void Inference::fill_random(std::uint64_t seed) {
  RandomStream random(seed);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const runtime::PlanTensor& tensor = plan().tensors[static_cast<std::size_t>(plan().inputs[i])];
    const auto fill = [&]<class Number>(Number) {
      for (std::size_t at = 0; at + sizeof(Number) <= inputs_[i].size(); at += sizeof(Number)) {
        const auto value = static_cast<Number>(random.uniform_real());
        std::memcpy(inputs_[i].data() + at, &value, sizeof value);
      }
    };
    if (tensor.dtype == TEMPER_F32) fill(0.0F);
    if (tensor.dtype == TEMPER_F64) fill(0.0);
  }
}

void Inference::set_input(const std::string& name, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const runtime::PlanTensor& tensor = plan().tensors[static_cast<std::size_t>(plan().inputs[i])];
    if (tensor.name != name) continue;
    if (bytes.size() != inputs_[i].size()) {
      throw Error(ErrorCode::InvalidArgument,
                  "input '" + name + "' has " + std::to_string(inputs_[i].size()) + " bytes, the file holds " +
                      std::to_string(bytes.size()),
                  "--input", "check shape and element type");
    }
    std::copy(bytes.begin(), bytes.end(), inputs_[i].begin());
    return;
  }
  std::string known;
  for (std::int32_t t : plan().inputs)
    known += (known.empty() ? "" : ", ") + plan().tensors[static_cast<std::size_t>(t)].name;
  throw Error(ErrorCode::InvalidArgument, "the model has no input '" + name + "'", "--input", "inputs: " + known);
}

void Inference::run() {
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& bytes : inputs_) in.push_back(bytes.data());
  for (auto& bytes : outputs_) out.push_back(bytes.data());
  executor_.run(in, out);
}

std::vector<peers::Tensor> Inference::peer_inputs() const {
  std::vector<peers::Tensor> out;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const runtime::PlanTensor& tensor = plan().tensors[static_cast<std::size_t>(plan().inputs[i])];
    peers::Tensor t;
    t.name = tensor.name;
    t.dtype = runtime::dtype_name(tensor.dtype);
    t.dims = tensor.shape;
    t.data = inputs_[i];
    out.push_back(std::move(t));
  }
  return out;
}

double largest_difference(const Inference& temper, const std::vector<peers::Tensor>& reference) {
  double difference = 0;
  for (std::size_t i = 0; i < temper.plan().outputs.size(); ++i) {
    const runtime::PlanTensor& tensor = temper.plan().tensors[static_cast<std::size_t>(temper.plan().outputs[i])];
    const auto other =
        std::find_if(reference.begin(), reference.end(), [&](const peers::Tensor& t) { return t.name == tensor.name; });
    TEMPER_CHECK(other != reference.end(), "the reference has no output '" + tensor.name + "'");
    const std::span<const std::byte> actual = temper.output(i);
    difference = std::max(difference, compare(actual, tensor.dtype, tensor.shape, {}, *other).error);
  }
  return difference;
}

}  // namespace temper::app
