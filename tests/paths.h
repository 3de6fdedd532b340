// Where the tests find the source tree and the programs that they start. Functions, compiled once, and not macros of
// every test: objects do not depend on the folder, so that clones share what the compiler cache remembers.
#pragma once

#include <string>

namespace temper::paths {

/// The root of the repository.
std::string source();
/// The folder of the built programs.
std::string programs();

}  // namespace temper::paths
