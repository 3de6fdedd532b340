// The version that records are marked with: code or templates of another version may mean something else by the same
// candidate.
#pragma once

#include <cstdint>
#include <string_view>

#include "temper/record/record.h"

namespace temper::tune {

/// "0.1.2"
std::string_view version();

/// Whether the record means today what it meant when it was measured: of this definition, this Temper version and this
/// record schema. Others are prior knowledge: they may be measured again, never applied.
bool is_current(const record::Record& record, std::uint64_t definition_hash);

}  // namespace temper::tune
