// The attributes of one node: a small map from name to value that knows nothing of any file format.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "temper/ops/tensor_value.h"

namespace temper::ops {

class Attributes {
 public:
  using Value = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                             std::vector<std::string>, TensorValue>;

  void set(std::string name, Value value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Null when absent.
  const Value* find(std::string_view name) const;
  const std::map<std::string, Value, std::less<>>& all() const { return values_; }

  // Each getter throws Error{InvalidModel} that names the attribute when it has another type, and, without a default,
  // when it is absent. `number` also takes an integer.
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t if_absent) const;
  double number(std::string_view name, double if_absent) const;
  std::string text(std::string_view name, std::string if_absent) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> if_absent) const;
  std::vector<double> numbers(std::string_view name, std::vector<double> if_absent) const;
  const TensorValue& tensor(std::string_view name) const;

  /// Canonical text, sorted by name: "axis=1,mode=linear,pads=[1;1;1;1]"; floats round-trip. A tensor prints as its
  /// type and a hash of its bytes.
  std::string canonical() const;

 private:
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace temper::ops
