// Reads a JSON file as tuners leave it: compressed or not, with the bare NaN and Infinity that Python writes, and cut
// off in the middle of its list of results when the tuner was stopped.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace temper::space::recorded {

using Json = nlohmann::json;  ///< fields in the order of their names

struct JsonFile {
  Json root;
  bool cut_off = false;  ///< the end was missing; what came before it is there
};

/// The contents of a file, unpacked when it is a gzip file. Throws Error{NotFound} when it is not there, Error{Io} when
/// it cannot be read, Error{InvalidArgument} when the packed data are damaged, and Error{Unsupported} for other kinds
/// of compression and for more than 4 GiB.
std::string read_unpacked(const std::filesystem::path& path);

/// Bare NaN, Infinity and -Infinity become the texts "NaN", "Infinity" and "-Infinity". A list or object that ends too
/// early is closed after its last whole element. Throws Error{InvalidArgument} with the line of what is no JSON.
JsonFile parse_json(std::string text, const std::string& where);

}  // namespace temper::space::recorded
