#include "temper/ops/tensor_value.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "temper/support/error.h"

namespace temper::ops {
namespace {

/// Calls `use` with a value of the C++ type that holds elements of `dtype`.
template <class Use>
auto with_type(ir::DType dtype, Use&& use) {
  switch (dtype) {
    case ir::DType::F32: return use(float{});
    case ir::DType::F64: return use(double{});
    case ir::DType::I8: return use(std::int8_t{});
    case ir::DType::U8: return use(std::uint8_t{});
    case ir::DType::I32: return use(std::int32_t{});
    case ir::DType::I64: return use(std::int64_t{});
    case ir::DType::Bool: break;
  }
  return use(bool{});
}

template <class To>
std::vector<To> elements_as(const TensorValue& value) {
  const auto count = static_cast<std::size_t>(value.type.elements());
  std::vector<To> result(count);
  with_type(value.type.dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      T element;
      if constexpr (std::is_same_v<T, bool>) {
        element = (*value.bytes)[i] != std::byte{0};
      } else {
        std::memcpy(&element, value.bytes->data() + i * sizeof(T), sizeof(T));
      }
      result[i] = static_cast<To>(element);
    }
  });
  return result;
}

template <class From>
TensorValue make(TensorType type, const std::vector<From>& elements) {
  TEMPER_CHECK(static_cast<std::int64_t>(elements.size()) == type.elements(), "as many elements as the shape has");
  std::vector<std::byte> bytes(elements.size() * static_cast<std::size_t>(ir::bytes(type.dtype)));
  with_type(type.dtype, [&]<class T>(T) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      T element;
      if constexpr (std::is_same_v<T, bool>) {
        element = elements[i] != From{0};
      } else {
        element = static_cast<T>(elements[i]);
      }
      std::memcpy(bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return {std::move(type), std::make_shared<const std::vector<std::byte>>(std::move(bytes))};
}

}  // namespace

std::int64_t TensorType::elements() const {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

std::string TensorType::text() const {
  std::string result(ir::to_string(dtype));
  result += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) result += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return result + "]";
}

std::vector<std::int64_t> TensorValue::integers() const {
  if (ir::is_float(type.dtype)) {
    throw Error(ErrorCode::InvalidModel, "a tensor of integers is needed, not " + type.text());
  }
  return elements_as<std::int64_t>(*this);
}
std::vector<double> TensorValue::numbers() const { return elements_as<double>(*this); }

TensorValue TensorValue::from_numbers(TensorType type, const std::vector<double>& numbers) {
  return make(std::move(type), numbers);
}
TensorValue TensorValue::from_integers(TensorType type, const std::vector<std::int64_t>& integers) {
  return make(std::move(type), integers);
}

bool TensorValue::operator==(const TensorValue& other) const { return type == other.type && *bytes == *other.bytes; }

}  // namespace temper::ops
