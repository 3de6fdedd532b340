#include "temper/runner/task_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "temper/runtime/plan.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::runner {
namespace {

temper_dtype checked_dtype(int value, std::int64_t bytes, const std::string& name) {
  if (value < TEMPER_F32 || value > TEMPER_BOOL) {
    throw Error(ErrorCode::InvalidArgument, "no element type has the number " + std::to_string(value), name);
  }
  const auto dtype = static_cast<temper_dtype>(value);
  if (bytes < 0 || bytes % runtime::element_bytes(dtype) != 0) {
    throw Error(ErrorCode::InvalidArgument, std::to_string(bytes) + " bytes are no whole number of elements", name);
  }
  return dtype;
}

template <class T, class Make>
void fill_as(std::span<std::byte> bytes, const Make& make) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    const T value = make();
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

template <class T>
void fill_integers(std::span<std::byte> bytes, RandomStream& random, double low, double high) {
  fill_as<T>(bytes, [&] { return static_cast<T>(std::floor(random.uniform_real(low, high))); });
}

}  // namespace

void fill(const protocol::Fill& rule, temper_dtype dtype, std::span<std::byte> bytes) {
  RandomStream random(rule.seed());
  const double low = rule.low(), high = rule.high();
  switch (dtype) {
    case TEMPER_F32: return fill_as<float>(bytes, [&] { return static_cast<float>(random.uniform_real(low, high)); });
    case TEMPER_F64: return fill_as<double>(bytes, [&] { return random.uniform_real(low, high); });
    case TEMPER_I8: return fill_integers<std::int8_t>(bytes, random, low, high);
    case TEMPER_U8: return fill_integers<std::uint8_t>(bytes, random, low, high);
    case TEMPER_I32: return fill_integers<std::int32_t>(bytes, random, low, high);
    case TEMPER_I64: return fill_integers<std::int64_t>(bytes, random, low, high);
    case TEMPER_BOOL:
      return fill_as<std::uint8_t>(bytes, [&] { return static_cast<std::uint8_t>(random.chance(0.5)); });
  }
}

TaskData make_task_data(const protocol::SetTask& message) {
  TaskData task;
  task.id = message.task();
  task.cold_constants = message.cold_constants();
  std::vector<std::int64_t> bytes;
  for (const protocol::TaskInput& input : message.inputs()) {
    checked_dtype(input.dtype(), input.bytes(), input.name());
    bytes.push_back(input.bytes());
  }
  for (const protocol::TaskOutput& output : message.outputs()) {
    checked_dtype(output.dtype(), output.bytes(), output.name());
    bytes.push_back(output.bytes());
  }
  task.memory = runtime::BufferGroup(bytes);
  for (const protocol::TaskInput& input : message.inputs()) {
    Input data;
    data.dtype = checked_dtype(input.dtype(), input.bytes(), input.name());
    data.aligned = task.memory[task.inputs.size()];
    if (input.has_data()) {
      if (static_cast<std::int64_t>(input.data().size()) != input.bytes()) {
        throw Error(ErrorCode::InvalidArgument,
                    std::to_string(input.data().size()) + " bytes of data are given for " +
                        std::to_string(input.bytes()) + " bytes",
                    input.name());
      }
      std::ranges::copy(std::as_bytes(std::span(input.data())), data.aligned.data());
    } else if (input.has_fill()) {
      fill(input.fill(), data.dtype, data.aligned);
    }
    data.guarded = GuardedMemory(input.bytes());
    std::ranges::copy(data.aligned, data.guarded.data());
    data.guarded.set_writable(false);
    if (!task.inputs.emplace(input.name(), std::move(data)).second) {
      throw Error(ErrorCode::InvalidArgument, "the input is given twice", input.name());
    }
  }
  for (const protocol::TaskOutput& output : message.outputs()) {
    Output data;
    data.dtype = checked_dtype(output.dtype(), output.bytes(), output.name());
    data.bytes = output.bytes();
    data.aligned = task.memory[task.inputs.size() + task.outputs.size()];
    data.has_expected = output.has_expected();
    data.expected = output.expected();
    data.absolute_tolerance = output.absolute_tolerance();
    if (data.has_expected && static_cast<std::int64_t>(data.expected.size()) != data.bytes) {
      throw Error(ErrorCode::InvalidArgument, "the expected output has another size than the output", output.name());
    }
    if (!task.outputs.emplace(output.name(), std::move(data)).second) {
      throw Error(ErrorCode::InvalidArgument, "the output is given twice", output.name());
    }
  }
  return task;
}

}  // namespace temper::runner
