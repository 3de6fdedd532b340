#include "temper/graph/onnx_tensor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "temper/graph/onnx_types.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

struct TypeName {
  int number;
  std::string_view name;
  std::optional<ir::DType> dtype;  ///< absent: known to ONNX, not to Temper
};

// The ONNX specification, TensorProto.DataType; numbers from 17 on are newer than the .proto in use.
constexpr std::array<TypeName, 27> kTypes{{
    {0, "undefined", {}},
    {1, "float", ir::DType::F32},
    {2, "uint8", ir::DType::U8},
    {3, "int8", ir::DType::I8},
    {4, "uint16", {}},
    {5, "int16", {}},
    {6, "int32", ir::DType::I32},
    {7, "int64", ir::DType::I64},
    {8, "string", {}},
    {9, "bool", ir::DType::Bool},
    {10, "float16", {}},
    {11, "double", ir::DType::F64},
    {12, "uint32", {}},
    {13, "uint64", {}},
    {14, "complex64", {}},
    {15, "complex128", {}},
    {16, "bfloat16", {}},
    {17, "float8e4m3fn", {}},
    {18, "float8e4m3fnuz", {}},
    {19, "float8e5m2", {}},
    {20, "float8e5m2fnuz", {}},
    {21, "uint4", {}},
    {22, "int4", {}},
    {23, "float4e2m1", {}},
    {24, "float8e8m0", {}},
    {25, "uint2", {}},
    {26, "int2", {}},
}};

std::int64_t parse_number(const std::string& text, const std::string& key, const std::string& where) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    throw Error(ErrorCode::InvalidModel, "external data has " + key + " '" + text + "', which is not a size", where);
  }
  return number;
}

struct ExternalLocation {
  std::string path;
  std::int64_t offset = 0;
  std::optional<std::int64_t> length;
};

ExternalLocation external_location(const onnx::TensorProto& proto, const std::string& where) {
  ExternalLocation location;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location.path = entry.value();
    if (entry.key() == "offset") location.offset = parse_number(entry.value(), "offset", where);
    if (entry.key() == "length") location.length = parse_number(entry.value(), "length", where);
  }
  if (location.path.empty()) {
    throw Error(ErrorCode::InvalidModel, "external data names no file", where, "the entry 'location' is missing");
  }
  return location;
}

/// The file behind `location`, inside `folder` also after symbolic links are followed.
std::filesystem::path external_file(const std::string& location, const std::filesystem::path& folder,
                                    const std::string& where) {
  const std::filesystem::path relative(location);
  const bool climbs = std::any_of(relative.begin(), relative.end(), [](const auto& part) { return part == ".."; });
  if (location.find('\0') != std::string::npos || relative.is_absolute() || climbs) {
    throw Error(ErrorCode::InvalidModel, "external data lies outside the model's folder: '" + location + "'", where,
                "external data must be a relative path below the model");
  }
  const std::filesystem::path base = folder.empty() ? std::filesystem::path(".") : folder;
  const std::filesystem::path file = base / relative;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    throw Error(ErrorCode::InvalidModel, "external data file '" + location + "' is missing", where,
                "put it beside the model: " + file.string());
  }
  const std::filesystem::path real_base = std::filesystem::canonical(base, error);
  const std::filesystem::path real_file = std::filesystem::canonical(file, error);
  const auto [in_base, in_file] = std::mismatch(real_base.begin(), real_base.end(), real_file.begin(), real_file.end());
  if (in_base != real_base.end()) {
    throw Error(ErrorCode::InvalidModel, "external data lies outside the model's folder: '" + location + "'", where,
                "the path is a link that leaves the folder");
  }
  return file;
}

std::vector<std::byte> read_external(const onnx::TensorProto& proto, std::int64_t bytes,
                                     const std::filesystem::path& folder, const std::string& where) {
  const ExternalLocation location = external_location(proto, where);
  const std::filesystem::path file = external_file(location.path, folder, where);
  if (location.length && *location.length != bytes) {
    throw Error(ErrorCode::InvalidModel,
                "external data has " + std::to_string(*location.length) + " bytes where the shape needs " +
                    std::to_string(bytes),
                where);
  }
  std::error_code error;
  const auto file_size = static_cast<std::int64_t>(std::filesystem::file_size(file, error));
  if (error) throw Error(ErrorCode::Io, "cannot read the size of '" + file.string() + "': " + error.message(), where);
  if (location.offset > file_size || bytes > file_size - location.offset) {
    throw Error(ErrorCode::InvalidModel,
                "external data file '" + location.path + "' is too short: " + std::to_string(bytes) + " bytes at " +
                    std::to_string(location.offset) + " of " + std::to_string(file_size),
                where, "the file is truncated or belongs to another model");
  }
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  std::ifstream stream(file, std::ios::binary);
  stream.seekg(location.offset);
  stream.read(reinterpret_cast<char*>(data.data()), bytes);
  if (!stream) throw Error(ErrorCode::Io, "cannot read '" + file.string() + "'", where);
  return data;
}

template <class To, class Field>
std::vector<std::byte> from_field(const Field& field, std::int64_t count, const std::string& where) {
  if (field.size() != count) {
    throw Error(
        ErrorCode::InvalidModel,
        "a tensor holds " + std::to_string(field.size()) + " elements where its shape needs " + std::to_string(count),
        where);
  }
  std::vector<std::byte> data(static_cast<std::size_t>(count) * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    const To value = static_cast<To>(field.Get(i));
    std::memcpy(data.data() + static_cast<std::size_t>(i) * sizeof(To), &value, sizeof(To));
  }
  return data;
}

std::vector<std::byte> typed_data(const onnx::TensorProto& proto, ir::DType dtype, std::int64_t count,
                                  const std::string& where) {
  switch (dtype) {
    case ir::DType::F32: return from_field<float>(proto.float_data(), count, where);
    case ir::DType::F64: return from_field<double>(proto.double_data(), count, where);
    case ir::DType::I64: return from_field<std::int64_t>(proto.int64_data(), count, where);
    case ir::DType::I32: return from_field<std::int32_t>(proto.int32_data(), count, where);
    case ir::DType::I8: return from_field<std::int8_t>(proto.int32_data(), count, where);
    case ir::DType::U8: return from_field<std::uint8_t>(proto.int32_data(), count, where);
    case ir::DType::Bool: return from_field<bool>(proto.int32_data(), count, where);
  }
  TEMPER_CHECK(false, "unknown dtype");
}

}  // namespace

ir::DType dtype_from_onnx(int number, const std::string& where) {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.number == number; });
  if (type == kTypes.end() || number == 0) {
    throw Error(ErrorCode::InvalidModel, "element type " + std::to_string(number) + " is not one of ONNX", where);
  }
  if (!type->dtype) {
    throw Error(ErrorCode::Unsupported, "element type " + std::string(type->name) + " is not supported", where,
                "convert the model to float (float32)");
  }
  return *type->dtype;
}

std::int64_t onnx_number(ir::DType dtype) {
  const auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeName& t) { return t.dtype == dtype; });
  TEMPER_CHECK(type != kTypes.end(), "every element type has a number");
  return type->number;
}

ops::TensorValue tensor_from_onnx(const onnx::TensorProto& proto, const std::filesystem::path& folder,
                                  const std::string& where) {
  const ir::DType dtype = dtype_from_onnx(proto.data_type(), where);
  if (proto.has_segment()) throw Error(ErrorCode::Unsupported, "tensors stored in segments are not supported", where);
  Sizes sizes(proto.dims().begin(), proto.dims().end());
  const std::int64_t count = element_count(sizes, where);
  const std::int64_t bytes = count * ir::bytes(dtype);
  std::vector<std::byte> data;
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    data = read_external(proto, bytes, folder, where);
  } else if (proto.has_raw_data()) {
    const std::string& raw = proto.raw_data();
    if (static_cast<std::int64_t>(raw.size()) != bytes) {
      throw Error(ErrorCode::InvalidModel,
                  "a tensor of shape " + to_string(sizes) + " holds " + std::to_string(raw.size()) +
                      " bytes where it needs " + std::to_string(bytes),
                  where, "the file is damaged or was written wrongly; export the model again");
    }
    data.resize(raw.size());
    if (!raw.empty()) std::memcpy(data.data(), raw.data(), raw.size());
  } else {
    data = typed_data(proto, dtype, count, where);
  }
  if (dtype == ir::DType::Bool) {
    for (std::byte& b : data) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  }
  return ops::TensorValue{{dtype, std::move(sizes)}, std::make_shared<const std::vector<std::byte>>(std::move(data))};
}

}  // namespace temper::graph
