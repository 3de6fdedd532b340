// Numbers to bytes and back, for models on disk. Little-endian, as every target of Temper is.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "temper/support/error.h"

namespace temper::cost {

static_assert(std::endian::native == std::endian::little);

class ByteWriter {
 public:
  template <class Number>
  void put(Number value) {
    static_assert(std::is_arithmetic_v<Number>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class Number>
  void put_all(std::span<const Number> values) {
    put(static_cast<std::uint64_t>(values.size()));
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Throws Error{Corrupt} when there are fewer bytes than are asked for.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class Number>
  Number get() {
    Number value{};
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  template <class Number>
  std::vector<Number> get_all() {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() / sizeof(Number)) fail();
    std::vector<Number> values(count);
    if (count > 0) std::memcpy(values.data(), take(count * sizeof(Number)).data(), count * sizeof(Number));
    return values;
  }
  bool at_end() const { return bytes_.empty(); }
  [[noreturn]] static void fail() {
    throw Error(ErrorCode::Corrupt, "the bytes of a cost model end too early or make no sense", "cost model",
                "get the file again, or train the model anew");
  }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) fail();
    const std::string_view result = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return result;
  }

  std::string_view bytes_;
};

}  // namespace temper::cost
