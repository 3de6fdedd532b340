// The benchmark suites: workloads by name.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace temper::app {

struct SuiteEntry {
  const char* name;
  const char* spec;  ///< for a convolution without a layout: the suite adds it
};

/// Suite "native": each side in the layout that it likes best; "nchw": plain NCHW at both ends.
std::span<const SuiteEntry> suite_entries();
/// The SPEC of an entry in a suite. Throws Error{InvalidArgument} for an unknown suite.
std::string suite_spec(const SuiteEntry& entry, std::string_view suite);

}  // namespace temper::app
