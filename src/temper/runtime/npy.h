// NumPy's .npy files (format versions 1.0 to 3.0, NEP 1): one array with its type and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "temper/target/artifact_abi.h"

namespace temper::runtime {

struct NpyArray {
  temper_dtype dtype = TEMPER_F32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;  ///< row-major, little-endian
};

/// Throws Error{NotFound}, Error{Io}, Error{InvalidArgument} when it is no .npy file or cut short, and
/// Error{Unsupported} for column-major or big-endian arrays and for element types that Temper does not have.
NpyArray read_npy(const std::filesystem::path& path);

/// The file appears whole or not at all. Throws what `OutputFile` throws. Requires `data` to hold exactly the elements
/// of `shape`.
void write_npy(const std::filesystem::path& path, temper_dtype dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> data);

}  // namespace temper::runtime
