// Runs an operator through its definition and the oracle, on small arrays of doubles.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "temper/ir/oracle.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"
#include "temper/support/random.h"

namespace temper::ops::testing {

using Shape = std::vector<std::int64_t>;

/// A dense row-major array.
struct Array {
  Shape shape;
  std::vector<double> values;
  ir::DType dtype = ir::DType::F32;

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
  double at(const Shape& index) const { return values[static_cast<std::size_t>(offset(index))]; }
  std::int64_t offset(const Shape& index) const {
    std::int64_t result = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) result = result * shape[i] + index[i];
    return result;
  }
  Shape index_of(std::int64_t position) const {
    Shape index(shape.size());
    for (std::size_t i = shape.size(); i-- > 0; position /= shape[i]) index[i] = position % shape[i];
    return index;
  }
};

inline std::int64_t elements(const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

/// An array filled by index.
inline Array fill(const Shape& shape, const std::function<double(const Shape&)>& value) {
  Array array{shape, std::vector<double>(static_cast<std::size_t>(elements(shape))), ir::DType::F32};
  for (std::int64_t i = 0; i < array.size(); ++i) array.values[static_cast<std::size_t>(i)] = value(array.index_of(i));
  return array;
}

/// Uniform numbers in [low, high) that f32 holds exactly.
inline Array random_array(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1) {
  RandomStream random(seed);
  return fill(shape,
              [&](const Shape&) { return static_cast<double>(static_cast<float>(random.uniform_real(low, high))); });
}
inline Array integers(const Shape& shape, const std::vector<std::int64_t>& values, ir::DType dtype = ir::DType::I64) {
  return {shape, std::vector<double>(values.begin(), values.end()), dtype};
}
inline Array vector_of(const std::vector<std::int64_t>& values) {
  return integers({static_cast<std::int64_t>(values.size())}, values);
}
inline Array as_type(Array array, ir::DType dtype) {
  array.dtype = dtype;
  return array;
}

/// One input of `Case`.
struct Input {
  Array array;
  bool known = false;  ///< its value is known while the definition is built
  bool absent = false;
};
inline Input known(Array array) { return {std::move(array), true, false}; }
inline Input unknown(Array array) { return {std::move(array), false, false}; }
inline Input absent() { return {{}, false, true}; }

struct Case {
  std::string op;
  std::vector<Input> inputs;
  Attributes attributes{};
  int opset = 21;
  Layout layout = Layout::Nchw;
  int outputs = 1;
};

/// The node of a case with placeholders in0, in1, …; keeps what the node points to.
class Built {
 public:
  explicit Built(const Case& c) : attributes_(c.attributes) {
    node_.op = c.op;
    node_.opset = c.opset;
    node_.attributes = &attributes_;
    node_.name = "out";
    node_.layout = c.layout;
    node_.outputs = c.outputs;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      const Input& input = c.inputs[i];
      if (input.absent) {
        node_.inputs.emplace_back();
        continue;
      }
      const TensorType type{input.array.dtype, input.array.shape};
      values_.push_back(TensorValue::from_numbers(type, input.array.values));
      const std::string name = "in" + std::to_string(i);
      node_.inputs.push_back({input.known ? ir::constant(name, extents(type.shape), type.dtype)
                                          : ir::placeholder(name, extents(type.shape), type.dtype),
                              input.known ? &values_.back() : nullptr});
      data_.emplace(name, std::span<const std::byte>(*values_.back().bytes));
    }
  }
  Node& node() { return node_; }
  const ir::Inputs& data() const { return data_; }

 private:
  Attributes attributes_;
  Node node_;
  std::deque<TensorValue> values_;
  ir::Inputs data_;
};

/// Outputs of an operator: built, verified, printed and parsed back, evaluated.
inline std::vector<Array> run(const Case& c) {
  Built built(c);
  const std::vector<ir::Tensor> outputs = build(built.node());
  const ir::Compute compute = ir::make_compute(outputs);
  ir::verify(compute);
  const ir::Compute parsed = ir::parse_compute(ir::print(compute));
  EXPECT_EQ(ir::structural_hash(parsed), ir::structural_hash(compute)) << ir::print(compute);
  ir::Oracle oracle(compute, built.data());
  std::vector<Array> arrays;
  for (const ir::Tensor& output : outputs) {
    arrays.push_back({output.shape(), oracle.all(*output.stage(), output.component()), output.dtype()});
  }
  return arrays;
}

/// The definitions agree with ours up to literals that were rounded to f32.
inline void expect_near(const Array& got, const Array& wanted, const std::string& what, double tolerance = 1e-6) {
  ASSERT_EQ(got.shape, wanted.shape) << what;
  for (std::size_t i = 0; i < wanted.values.size(); ++i) {
    const double a = got.values[i], b = wanted.values[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    ASSERT_LE(std::abs(a - b), tolerance * (1 + std::abs(b)))
        << what << " at element " << i << ": " << a << " and " << b;
  }
}

/// Text of the error that building a case gives; "built" when there is none.
inline std::string build_error(const Case& c) {
  try {
    Built built(c);
    build(built.node());
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.message() + " (" + error.where() + ")";
  }
  return "built";
}

inline Attributes attributes(std::initializer_list<std::pair<std::string, Attributes::Value>> values) {
  Attributes result;
  for (const auto& [name, value] : values) result.set(name, value);
  return result;
}
inline std::int64_t i64(int value) { return value; }
inline std::vector<std::int64_t> list(std::initializer_list<std::int64_t> values) { return values; }

}  // namespace temper::ops::testing
