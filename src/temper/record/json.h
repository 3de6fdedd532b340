// Records as JSON Lines: one object a line, so that history files can be read, merged and diffed with common tools.
#pragma once

#include <string>
#include <string_view>

#include "temper/record/record.h"

namespace temper::record {

/// One line, without the line break, always with the fields in the same order:
///   schema, task, definition, target, temper, candidate, failure, reason, min_seconds, median_seconds, repeats,
///   number, build_seconds, run_seconds, max_error, trace (or null), strategy, seed, created_unix_ms.
/// `definition` is 16 hexadecimal digits. Numbers that JSON cannot say are the texts "nan", "inf" and "-inf". The id is
/// left out: the store that reads the line gives another one. Bytes of `reason` that are not UTF-8 become U+FFFD.
/// Throws Error{InvalidArgument} when another text is not UTF-8.
std::string to_json_line(const Record& record);

/// Inverse; unknown fields are ignored. Throws Error{InvalidArgument} when the line is no JSON object, or a field is
/// missing or malformed (the error names it), and Error{Version} when the line's schema is newer than `kRecordSchema`.
Record from_json_line(std::string_view line);

}  // namespace temper::record
