// The version that records are marked with: code or templates of another version may mean something else by the same
// candidate.
#pragma once

#include <string_view>

namespace temper::tune {

/// "0.1.0"
std::string_view version();

}  // namespace temper::tune
