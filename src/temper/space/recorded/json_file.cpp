#include "temper/space/recorded/json_file.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "temper/support/error.h"

namespace temper::space::recorded {
namespace {

constexpr std::size_t kLargest = std::size_t{4} << 30;

std::string read_bytes(const std::filesystem::path& path) {
  std::error_code status;
  if (!std::filesystem::exists(path, status)) {
    throw Error(ErrorCode::NotFound, "the file does not exist", path.string(), "check the name");
  }
  if (std::filesystem::is_directory(path, status)) {
    throw Error(ErrorCode::InvalidArgument, "this is a folder", path.string(), "name the files in it");
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || file.bad()) {
    throw Error(ErrorCode::Io, "the file cannot be read", path.string(), "check its permissions");
  }
  return bytes;
}

void refuse_other_compression(std::string_view bytes, const std::string& where) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 4> kOthers{
      {{"\x28\xb5\x2f\xfd", "zstd"}, {"BZh", "bzip2"}, {"\xfd\x37zXZ", "xz"}, {"PK\x03\x04", "zip"}}};
  for (const auto& [magic, name] : kOthers) {
    if (!bytes.starts_with(magic)) continue;
    throw Error(ErrorCode::Unsupported, fmt::format("{} files are not supported", name), where,
                "unpack it, or pack it with gzip");
  }
}

std::string unpack_gzip(std::string_view packed, const std::string& where) {
  z_stream stream{};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw Error(ErrorCode::Io, "zlib cannot be started", where);
  const auto end = [](z_stream* s) { inflateEnd(s); };
  const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);
  std::string text;
  std::vector<char> block(std::size_t{1} << 20);
  std::size_t read = 0;
  for (;;) {
    if (stream.avail_in == 0) {
      const std::size_t part = std::min<std::size_t>(packed.size() - read, std::size_t{1} << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));  // zlib only reads it
      stream.avail_in = static_cast<uInt>(part);
      read += part;
    }
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    text.append(block.data(), block.size() - stream.avail_out);
    if (text.size() > kLargest) {
      throw Error(ErrorCode::Unsupported, "the unpacked file is larger than 4 GiB", where, "split the recording");
    }
    if (result == Z_STREAM_END) {
      if (stream.avail_in == 0 && read == packed.size()) return text;
      inflateReset(&stream);  // a gzip file may have several members
      continue;
    }
    const bool ended = result == Z_BUF_ERROR ||
                       (result == Z_OK && stream.avail_in == 0 && read == packed.size() && stream.avail_out > 0);
    if (ended || result != Z_OK) {
      throw Error(ErrorCode::InvalidArgument,
                  ended ? "the compressed data end too early" : "the compressed data are damaged", where,
                  "fetch the file again");
    }
  }
}

/// Puts the bare numbers that JSON does not have into quotes.
std::string quote_special_numbers(std::string text) {
  if (text.find("NaN") == std::string::npos && text.find("Infinity") == std::string::npos) return text;
  std::string result;
  result.reserve(text.size() + text.size() / 64);
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside) {
      result += c;
      if (c == '\\' && i + 1 < text.size()) result += text[++i];
      if (c == '"') inside = false;
      continue;
    }
    bool replaced = false;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (std::string_view(text).substr(i, word.size()) != word) continue;
      result += fmt::format("\"{}\"", word);
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (replaced) continue;
    inside = c == '"';
    result += c;
  }
  return result;
}

/// What closes `text` after its last whole element, when it ends too early: the place to cut at and the brackets to
/// add.
struct Mend {
  std::size_t cut = 0;
  std::string closing;
};
Mend find_mend(std::string_view text) {
  std::string open;  // brackets that are open, innermost last
  Mend mend;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (inside) {
      if (c == '\\') ++i;
      if (c == '"') inside = false;
    } else if (c == '"') {
      inside = true;
    } else if (c == '{' || c == '[') {
      open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return {};
      open.pop_back();
      // A whole entry of the list of results: everything further inside is dropped with its entry.
      if (open.size() <= 2) mend = {i + 1, std::string(open.rbegin(), open.rend())};
    }
  }
  return open.empty() && !inside ? Mend{} : mend;
}

}  // namespace

std::string read_unpacked(const std::filesystem::path& path) {
  std::string bytes = read_bytes(path);
  refuse_other_compression(bytes, path.string());
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  return unpack_gzip(bytes, path.string());
}

JsonFile parse_json(std::string text, const std::string& where) {
  text = quote_special_numbers(std::move(text));
  try {
    return {Json::parse(text), false};
  } catch (const Json::parse_error& error) {
    const Mend mend = find_mend(text);
    if (mend.cut > 0) {
      const Json root = Json::parse(text.substr(0, mend.cut) + mend.closing, nullptr, false);
      if (!root.is_discarded()) return {root, true};
    }
    const std::size_t place = std::min(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n');
    throw Error(ErrorCode::InvalidArgument, text.empty() ? "the file is empty" : "this is no JSON",
                fmt::format("{}, line {}", where, line),
                "recordings are JSON, plain or packed with gzip: T1, T4 or a cache of Kernel Tuner");
  }
}

}  // namespace temper::space::recorded
