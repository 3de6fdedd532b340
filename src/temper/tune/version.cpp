#include "temper/tune/version.h"

#ifndef TEMPER_VERSION_TEXT
#error "the build defines TEMPER_VERSION_TEXT"
#endif

namespace temper::tune {

std::string_view version() { return TEMPER_VERSION_TEXT; }

}  // namespace temper::tune
