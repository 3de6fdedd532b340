#include "temper/ops/attributes.h"

#include <charconv>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::ops {
namespace {

constexpr const char* kKinds[] = {"an integer",        "a number",        "a text",  "a list of integers",
                                  "a list of numbers", "a list of texts", "a tensor"};

template <class T>
const T& as(const Attributes::Value& value, std::string_view name) {
  if (const T* typed = std::get_if<T>(&value)) return *typed;
  throw Error(ErrorCode::InvalidModel, "attribute '" + std::string(name) + "' must be " +
                                           kKinds[Attributes::Value(T{}).index()] + ", not " + kKinds[value.index()]);
}

const Attributes::Value& required(const Attributes& attributes, std::string_view name) {
  if (const Attributes::Value* value = attributes.find(name)) return *value;
  throw Error(ErrorCode::InvalidModel, "attribute '" + std::string(name) + "' is missing");
}

template <class T>
T get_or(const Attributes& attributes, std::string_view name, T if_absent) {
  const Attributes::Value* value = attributes.find(name);
  if (value == nullptr) return if_absent;
  return as<T>(*value, name);
}

struct Canonical {
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const {
    char buffer[40];
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
  }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(const TensorValue& v) const { return v.type.text() + "#" + to_hex(hash_bytes(*v.bytes)); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string result = "[";
    for (std::size_t i = 0; i < values.size(); ++i) result += (i > 0 ? ";" : "") + (*this)(values[i]);
    return result + "]";
  }
};

}  // namespace

const Attributes::Value* Attributes::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::int64_t Attributes::integer(std::string_view name) const { return as<std::int64_t>(required(*this, name), name); }
std::int64_t Attributes::integer(std::string_view name, std::int64_t if_absent) const {
  return get_or<std::int64_t>(*this, name, if_absent);
}
double Attributes::number(std::string_view name, double if_absent) const {
  const Value* value = find(name);
  if (value == nullptr) return if_absent;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  return as<double>(*value, name);
}
std::string Attributes::text(std::string_view name, std::string if_absent) const {
  return get_or<std::string>(*this, name, std::move(if_absent));
}
std::vector<std::int64_t> Attributes::integers(std::string_view name) const {
  return as<std::vector<std::int64_t>>(required(*this, name), name);
}
std::vector<std::int64_t> Attributes::integers(std::string_view name, std::vector<std::int64_t> if_absent) const {
  return get_or<std::vector<std::int64_t>>(*this, name, std::move(if_absent));
}
std::vector<double> Attributes::numbers(std::string_view name, std::vector<double> if_absent) const {
  return get_or<std::vector<double>>(*this, name, std::move(if_absent));
}
const TensorValue& Attributes::tensor(std::string_view name) const {
  return as<TensorValue>(required(*this, name), name);
}

std::string Attributes::canonical() const {
  std::string result;
  for (const auto& [name, value] : values_) {
    if (!result.empty()) result += ',';
    result += name + "=" + std::visit(Canonical{}, value);
  }
  return result;
}

}  // namespace temper::ops
