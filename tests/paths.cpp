#include "paths.h"

namespace temper::paths {

std::string source() { return TEMPER_SOURCE_DIR; }
std::string programs() { return TEMPER_BIN_DIR; }

}  // namespace temper::paths
