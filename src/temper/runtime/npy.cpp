#include "temper/runtime/npy.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "temper/runtime/plan.h"
#include "temper/support/error.h"
#include "temper/support/output_file.h"

namespace temper::runtime {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::array<std::pair<std::string_view, temper_dtype>, 7> kDescriptions{{{"<f4", TEMPER_F32},
                                                                                  {"<f8", TEMPER_F64},
                                                                                  {"|i1", TEMPER_I8},
                                                                                  {"|u1", TEMPER_U8},
                                                                                  {"<i4", TEMPER_I32},
                                                                                  {"<i8", TEMPER_I64},
                                                                                  {"|b1", TEMPER_BOOL}}};

[[noreturn]] void malformed(const std::string& why, const std::filesystem::path& path) {
  throw Error(ErrorCode::InvalidArgument, "not a usable .npy file: " + why, path.string(), "write it with numpy.save");
}

/// The value behind `'key':` in the header, a Python dictionary of three entries.
std::string_view entry(std::string_view header, const std::string& key, const std::filesystem::path& path) {
  const std::size_t found = header.find("'" + key + "'");
  if (found == std::string_view::npos) malformed("its header has no '" + key + "'", path);
  std::string_view rest = header.substr(found + key.size() + 2);
  const std::size_t colon = rest.find_first_not_of(' ');
  if (colon == std::string_view::npos || rest[colon] != ':') malformed("its header is malformed", path);
  rest = rest.substr(colon + 1);
  const std::size_t begin = rest.find_first_not_of(' ');
  if (begin == std::string_view::npos) malformed("its header is malformed", path);
  return rest.substr(begin);
}

temper_dtype parse_description(std::string_view text, const std::filesystem::path& path) {
  const std::size_t end = text.size() > 1 ? text.find(text[0], 1) : std::string_view::npos;
  if (end == std::string_view::npos || text[0] != '\'') malformed("its element type is not a simple one", path);
  const std::string_view name = text.substr(1, end - 1);
  std::string known;
  for (const auto& [description, dtype] : kDescriptions) {
    if (name == description) return dtype;
    known += (known.empty() ? "" : ", ") + std::string(description);
  }
  throw Error(ErrorCode::Unsupported, "element type '" + std::string(name) + "' is not supported", path.string(),
              "convert the array to one of " + known);
}

std::vector<std::int64_t> parse_shape(std::string_view text, const std::filesystem::path& path) {
  const std::size_t end = text.find(')');
  if (text.empty() || text[0] != '(' || end == std::string_view::npos) malformed("its shape is malformed", path);
  text = text.substr(1, end - 1);
  std::vector<std::int64_t> shape;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return shape;
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || size < 0) malformed("its shape is malformed", path);
    shape.push_back(size);
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
}

}  // namespace

NpyArray read_npy(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                std::string("cannot open: ") + std::strerror(errno), path.string());
  }
  std::array<unsigned char, 12> start{};
  file.read(reinterpret_cast<char*>(start.data()), 10);
  if (file.gcount() != 10 || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
    malformed("wrong first bytes", path);
  const int version = start[6];
  if (version < 1 || version > 3) malformed("format version " + std::to_string(version) + " is unknown", path);
  std::size_t header_bytes = start[8] + (std::size_t{start[9]} << 8);
  if (version >= 2) {
    file.read(reinterpret_cast<char*>(start.data() + 10), 2);
    header_bytes += (std::size_t{start[10]} << 16) + (std::size_t{start[11]} << 24);
  }
  if (header_bytes > (1u << 20)) malformed("its header is too long", path);
  std::string header(header_bytes, '\0');
  file.read(header.data(), static_cast<std::streamsize>(header_bytes));
  if (!file) malformed("it is cut short", path);

  NpyArray array;
  array.dtype = parse_description(entry(header, "descr", path), path);
  array.shape = parse_shape(entry(header, "shape", path), path);
  if (!entry(header, "fortran_order", path).starts_with("False")) {
    throw Error(ErrorCode::Unsupported, "the array is column-major", path.string(),
                "write it with numpy.save(name, numpy.ascontiguousarray(array))");
  }
  std::int64_t bytes = element_bytes(array.dtype);
  for (const std::int64_t size : array.shape) {
    if (__builtin_mul_overflow(bytes, size, &bytes)) malformed("its shape is too large", path);
  }
  const auto begin = static_cast<std::int64_t>(file.tellg());
  file.seekg(0, std::ios::end);
  if (static_cast<std::int64_t>(file.tellg()) - begin != bytes) malformed("its data do not fit its shape", path);
  file.seekg(begin);
  array.data.resize(static_cast<std::size_t>(bytes));
  file.read(reinterpret_cast<char*>(array.data.data()), bytes);
  if (!file) throw Error(ErrorCode::Io, "cannot read", path.string());
  return array;
}

void write_npy(const std::filesystem::path& path, temper_dtype dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> data) {
  std::int64_t bytes = element_bytes(dtype);
  std::string header = "{'descr': '";
  for (const auto& [description, value] : kDescriptions) {
    if (value == dtype) header += description;
  }
  header += "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : shape) {
    header += std::to_string(size) + ",";
    bytes *= size;
  }
  TEMPER_CHECK(bytes == static_cast<std::int64_t>(data.size()), "the data fit the shape");
  header += "), }";
  constexpr std::size_t kStart = 10;  // magic, version, header length
  header.resize(static_cast<std::size_t>(align_up(static_cast<std::int64_t>(kStart + header.size() + 1))) - kStart,
                ' ');
  header.back() = '\n';

  OutputFile file(path, "the array");
  const std::array<char, 4> rest{1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  file.write(kMagic);
  file.write(std::string_view(rest.data(), rest.size()));
  file.write(header);
  file.write(data);
  file.keep();
}

}  // namespace temper::runtime
