#include "temper/tune/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "temper/ir/oracle.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::tune {
namespace {

constexpr int kMaxCorners = 16;
constexpr int kRandomPoints = 24;
/// Both sides round, and the largest magnitude is known from samples only.
constexpr double kBothSides = 2, kUnseen = 2;

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  return elements;
}

template <class Value>
void put(std::string& bytes, std::int64_t index, Value value) {
  std::memcpy(bytes.data() + static_cast<std::size_t>(index) * sizeof(Value), &value, sizeof(Value));
}

template <class Value>
double get(const std::string& bytes, std::int64_t index) {
  Value value;
  std::memcpy(&value, bytes.data() + static_cast<std::size_t>(index) * sizeof(Value), sizeof(Value));
  return static_cast<double>(value);
}

/// How elements of a dtype are written, and which small integers inputs hold: valid indices of anything with two
/// elements where they may be indices.
struct DTypeFacts {
  void (*write)(std::string& bytes, std::int64_t index, double value);
  double (*read)(const std::string& bytes, std::int64_t index);
  std::int64_t low, high;  ///< integers, both included
};
template <class Value>
constexpr DTypeFacts facts_of(std::int64_t low, std::int64_t high) {
  return {[](std::string& bytes, std::int64_t index, double value) { put(bytes, index, static_cast<Value>(value)); },
          &get<Value>, low, high};
}
const DTypeFacts& facts(ir::DType dtype) {
  static const DTypeFacts table[] = {facts_of<float>(0, 0),        facts_of<double>(0, 0),
                                     facts_of<std::int8_t>(-8, 7), facts_of<std::uint8_t>(0, 15),
                                     facts_of<std::int32_t>(0, 1), facts_of<std::int64_t>(0, 1),
                                     facts_of<std::uint8_t>(0, 1)};
  return table[static_cast<std::size_t>(dtype)];
}

/// Points at the ends of every axis, then random ones.
std::vector<std::vector<std::int64_t>> points(const std::vector<std::int64_t>& shape, RandomStream random) {
  std::vector<std::vector<std::int64_t>> result;
  if (product(shape) == 0) return result;
  const std::size_t rank = shape.size();
  const int corners = rank < 4 ? 1 << rank : kMaxCorners;
  for (int corner = 0; corner < corners; ++corner) {
    std::vector<std::int64_t> point(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) {
      // Of more axes than bits, the first ones share a bit: the innermost axes, which tiles cut, get all combinations.
      const std::size_t bit = std::min<std::size_t>(rank - 1 - axis, 3);
      point[axis] = ((corner >> bit) & 1) != 0 ? shape[axis] - 1 : 0;
    }
    result.push_back(std::move(point));
  }
  for (int i = 0; i < kRandomPoints; ++i) {
    std::vector<std::int64_t> point;
    for (const std::int64_t extent : shape) point.push_back(random.uniform_int(0, extent - 1));
    result.push_back(std::move(point));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::string place(const std::string& output, const std::vector<std::int64_t>& index) {
  std::string text = output + "[";
  for (std::size_t i = 0; i < index.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(index[i]);
  return text + "]";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

double unit_roundoff(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::F32: return 0x1p-24;
    case ir::DType::F64: return 0x1p-53;
    default: return 0;
  }
}

double element(const std::string& bytes, ir::DType dtype, std::int64_t index) {
  return facts(dtype).read(bytes, index);
}

Reference::Reference(const ir::Compute& compute, double tolerance_factor, std::uint64_t seed, bool cold_constants)
    : compute_(&compute), tolerance_factor_(tolerance_factor) {
  data_.cold_constants = cold_constants;
  for (const ir::StagePtr& stage : compute.outputs) {
    const ir::DType dtype = stage->dtypes.front();
    if (std::ranges::any_of(stage->dtypes, [&](ir::DType other) { return other != dtype; })) {
      throw Error(ErrorCode::Unsupported, "the components of an output have different element types",
                  "output " + stage->name);
    }
    const std::int64_t bytes =
        stage->memory_elements() * static_cast<std::int64_t>(stage->dtypes.size()) * ir::bytes(dtype);
    data_.outputs.push_back({stage->name, dtype, bytes, {}, 0});
  }
  if (!draw(-1, 1, seed)) draw(0.1, 1, seed);
}

bool Reference::draw(double low, double high, std::uint64_t seed) {
  data_.inputs.clear();
  samples_.clear();
  const RandomStream random(seed);
  for (const ir::StagePtr& stage : compute_->stages) {
    if (stage->kind != ir::StageKind::Placeholder) continue;
    const ir::DType dtype = stage->dtypes.front();
    const std::int64_t elements = stage->memory_elements();
    TaskData::Input input{stage->name, dtype, std::string(static_cast<std::size_t>(elements * ir::bytes(dtype)), '\0')};
    RandomStream numbers = random.fork(stage->name);
    const DTypeFacts& fact = facts(dtype);
    for (std::int64_t i = 0; i < elements; ++i) {
      fact.write(input.bytes, i,
                 ir::is_float(dtype) ? numbers.uniform_real(low, high)
                                     : static_cast<double>(numbers.uniform_int(fact.low, fact.high)));
    }
    data_.inputs.push_back(std::move(input));
  }
  ir::Inputs views;
  for (const TaskData::Input& input : data_.inputs)
    views[input.name] = std::as_bytes(std::span(input.bytes.data(), input.bytes.size()));
  ir::Oracle oracle(*compute_, views);
  bool finite = true;
  for (std::size_t output = 0; output < compute_->outputs.size(); ++output) {
    const ir::Stage& stage = *compute_->outputs[output];
    const std::vector<std::int64_t> shape = stage.shape(), strides = stage.memory_strides();
    for (const std::vector<std::int64_t>& index : points(shape, random.fork("points").fork(output))) {
      for (std::size_t component = 0; component < stage.dtypes.size(); ++component) {
        const ir::Evaluated exact = oracle.at(stage, index, static_cast<int>(component));
        finite = finite && std::isfinite(exact.value) && std::isfinite(exact.magnitude);
        const std::int64_t begin = static_cast<std::int64_t>(component) * stage.memory_elements();
        samples_.push_back({output, std::inner_product(index.begin(), index.end(), strides.begin(), begin), index,
                            exact.value, exact.magnitude});
      }
    }
  }
  return finite;
}

std::optional<std::string> Reference::establish(const std::map<std::string, std::string>& outputs) {
  std::vector<double> magnitude(data_.outputs.size(), 0);
  for (const TaskData::Output& output : data_.outputs) {
    const auto found = outputs.find(output.name);
    if (found == outputs.end()) return "there is no output " + output.name;
    if (static_cast<std::int64_t>(found->second.size()) != output.bytes) {
      return "output " + output.name + " has " + std::to_string(found->second.size()) + " bytes instead of " +
             std::to_string(output.bytes);
    }
  }
  for (const Sample& sample : samples_) {
    const TaskData::Output& output = data_.outputs[sample.output];
    const double computed = element(outputs.at(output.name), output.dtype, sample.element);
    const double scale = std::isfinite(sample.magnitude) ? std::max(sample.magnitude, std::abs(sample.value)) : 0;
    const double tolerance = tolerance_factor_ * unit_roundoff(output.dtype) * scale;
    const bool same = std::isnan(sample.value)
                          ? std::isnan(computed)
                          : computed == sample.value || std::abs(computed - sample.value) <= tolerance;
    if (!same) {
      return place(output.name, sample.index) + " is " + number(computed) + " instead of " + number(sample.value) +
             " (tolerance " + number(tolerance) + ")";
    }
    magnitude[sample.output] = std::max(magnitude[sample.output], scale);
  }
  for (std::size_t i = 0; i < data_.outputs.size(); ++i) {
    TaskData::Output& output = data_.outputs[i];
    output.expected = outputs.at(output.name);
    output.absolute_tolerance = kBothSides * kUnseen * tolerance_factor_ * unit_roundoff(output.dtype) * magnitude[i];
  }
  established_ = true;
  return std::nullopt;
}

}  // namespace temper::tune
