// Bundles: a plan in one file (`model.temper`), loaded by mapping it into memory.
//
// Layout, little-endian: a header of 64 bytes
//     0  magic "TEMPER\x1a\n"     8  u32 version, u32 zero     16  u64 bytes of the whole file
//    24  u64 bytes of the JSON   32  u64 hash of the JSON      40  16 zero bytes     56  u64 hash of bytes 0 to 55
// then the JSON description of the plan, then the artifacts and constants that it lists by offset, size and hash, each
// at a multiple of 64. Hashes are `hash_bytes` of support/hash.h: they find damage, they do not authenticate. A bundle
// holds machine code: load only bundles that you trust.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "temper/runtime/plan.h"

namespace temper::runtime {

/// 2: views may lie at any element and have strides. Bundles of version 1 are read.
inline constexpr std::uint32_t kBundleVersion = 2;

/// Writes the plan and returns how many bytes it takes; `path` never holds half a bundle. Throws what `OutputFile`
/// throws.
std::int64_t save_bundle(const Plan& plan, const std::filesystem::path& path);

/// Whether the file begins as a bundle does; false also when it cannot be read.
bool is_bundle(const std::filesystem::path& path);

/// Maps the file, checks all of it (hashes included), and returns a plan whose bytes live in the mapping.
/// Throws Error{NotFound}, Error{Io}, Error{Corrupt} (no bundle, cut short, damaged), Error{Version} (written by a
/// newer Temper) and Error{InvalidModel} (see `validate`).
std::shared_ptr<const Plan> load_bundle(const std::filesystem::path& path);

/// As `load_bundle`, from bytes already in memory; `name` stands for the path in messages.
std::shared_ptr<const Plan> parse_bundle(const Bytes& bytes, const std::string& name);

}  // namespace temper::runtime
