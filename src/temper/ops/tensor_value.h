// A tensor whose contents are known while a definition is built: a constant input or a tensor attribute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "temper/ir/dtype.h"

namespace temper::ops {

/// Element type and sizes, outermost first.
struct TensorType {
  ir::DType dtype = ir::DType::F32;
  std::vector<std::int64_t> shape;
  std::int64_t elements() const;
  /// "f32[1,3,224,224]"
  std::string text() const;
  bool operator==(const TensorType&) const = default;
};

/// Row-major bytes, shared and immutable.
struct TensorValue {
  TensorType type;
  std::shared_ptr<const std::vector<std::byte>> bytes;

  /// Every element; an integer dtype or Bool. Throws Error{InvalidModel} for a floating dtype.
  std::vector<std::int64_t> integers() const;
  /// Every element, of any dtype.
  std::vector<double> numbers() const;

  /// Converts each number to `type.dtype`: integers truncate, Bool is "not zero".
  static TensorValue from_numbers(TensorType type, const std::vector<double>& numbers);
  static TensorValue from_integers(TensorType type, const std::vector<std::int64_t>& integers);
  bool operator==(const TensorValue& other) const;
};

}  // namespace temper::ops
