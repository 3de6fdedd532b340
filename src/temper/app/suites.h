// The benchmark suites: workloads by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace temper::app {

struct SuiteEntry {
  const char* name;
  const char* spec;     ///< for a convolution without a layout: the suite adds it
  bool native = false;  ///< in the suite "native" too
};

/// Suite "native": each side in the layout that it likes best; "nchw": plain NCHW at both ends, every workload. Throws
/// Error{InvalidArgument} for an unknown suite.
std::vector<SuiteEntry> suite_entries(std::string_view suite);
/// The SPEC of an entry in a suite. Throws Error{InvalidArgument} for an unknown suite.
std::string suite_spec(const SuiteEntry& entry, std::string_view suite);

}  // namespace temper::app
