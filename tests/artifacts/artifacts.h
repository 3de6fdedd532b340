// The hand-written kernels of this folder, for tests.
#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace temper::testing {

/// Bytes of the shared object built from kernels.c with that name, in lower case.
inline std::string artifact_text(const std::string& kernel) {
  const std::string path = std::string(TEMPER_TEST_ARTIFACT_DIR) + "/" + kernel + ".so";
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::vector<std::byte> artifact_bytes(const std::string& kernel) {
  const std::string text = artifact_text(kernel);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace temper::testing
