#include "temper/tune/version.h"

#ifndef TEMPER_VERSION_TEXT
#error "the build defines TEMPER_VERSION_TEXT"
#endif

namespace temper::tune {

std::string_view version() { return TEMPER_VERSION_TEXT; }

bool is_current(const record::Record& record, std::uint64_t definition_hash) {
  return record.definition_hash == definition_hash && record.schema == record::kRecordSchema &&
         record.temper_version == version();
}

}  // namespace temper::tune
