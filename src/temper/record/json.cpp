#include "temper/record/json.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::record {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

/// Replaces what is not UTF-8, so that a message from a dying process never makes a record unwritable.
std::string printable(const std::string& text) {
  const std::string dumped = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(dumped).get<std::string>();
}

[[noreturn]] void fail(const std::string& what, std::string_view field) {
  throw Error(ErrorCode::InvalidArgument, what, "field '" + std::string(field) + "'",
              "each line must be one record as written by `temper db export`");
}

const Json& field(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) fail("a record lacks a field", name);
  return *found;
}

std::string text_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_string()) fail("expected a text", name);
  return value.get<std::string>();
}

double real_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  fail("expected a number", name);
}

template <typename Integer>
Integer integer_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  if (!value.is_number_integer()) fail("expected a whole number", name);
  if (value.is_number_unsigned()) {
    const auto wide = value.get<std::uint64_t>();
    if (wide <= static_cast<std::uint64_t>(std::numeric_limits<Integer>::max())) return static_cast<Integer>(wide);
  } else {
    const auto wide = value.get<std::int64_t>();
    if (std::is_signed_v<Integer> && wide >= static_cast<std::int64_t>(std::numeric_limits<Integer>::min())) {
      return static_cast<Integer>(wide);
    }
  }
  fail("a number is out of range", name);
}

/// Runs a parser of a text form and names the field when it refuses.
template <typename Parse>
auto parsed_field(const Json& object, const char* name, Parse&& parse) {
  const std::string text = text_field(object, name);
  try {
    return parse(text);
  } catch (const Error& error) {
    fail(error.message() + (error.where().empty() ? "" : " (" + error.where() + ")"), name);
  }
}

}  // namespace

std::string to_json_line(const Record& record) {
  const Measurement& m = record.measurement;
  Json object;
  object["schema"] = record.schema;
  object["task"] = record.task.text();
  object["definition"] = to_hex(record.definition_hash);
  object["target"] = record.target;
  object["temper"] = record.temper_version;
  object["candidate"] = record.candidate.text();
  object["failure"] = to_string(m.failure);
  object["reason"] = printable(m.reason);
  object["min_seconds"] = number(m.min_seconds);
  object["median_seconds"] = number(m.median_seconds);
  object["repeats"] = m.repeats;
  object["number"] = m.number;
  object["build_seconds"] = number(m.build_seconds);
  object["run_seconds"] = number(m.run_seconds);
  object["max_error"] = number(m.max_error);
  object["trace"] = record.trace ? Json(*record.trace) : Json(nullptr);
  object["strategy"] = record.strategy;
  object["seed"] = record.seed;
  object["created_unix_ms"] = record.created_unix_ms;
  try {
    return object.dump();
  } catch (const Json::type_error& error) {
    throw Error(ErrorCode::InvalidArgument, "a record holds text that is not UTF-8", error.what(),
                "names of operators, designs and targets must be UTF-8");
  }
}

Record from_json_line(std::string_view line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) {
    throw Error(ErrorCode::InvalidArgument, "a line is not valid JSON", {},
                "each line must be one complete JSON object");
  }
  if (!object.is_object()) {
    throw Error(ErrorCode::InvalidArgument, "a line is JSON, but no object", {}, "each line must be one JSON object");
  }
  Record record;
  record.schema = integer_field<int>(object, "schema");
  if (record.schema > kRecordSchema) {
    throw Error(ErrorCode::Version,
                "a record has schema " + std::to_string(record.schema) + ", newer than this Temper's " +
                    std::to_string(kRecordSchema),
                "field 'schema'", "read it with the Temper that wrote it, or a newer one");
  }
  if (record.schema < 1) fail("a schema is at least 1", "schema");
  record.task = parsed_field(object, "task", [](const std::string& text) { return TaskKey::parse(text); });
  record.definition_hash = parsed_field(object, "definition", parse_hex);
  record.target = text_field(object, "target");
  record.temper_version = text_field(object, "temper");
  record.candidate =
      parsed_field(object, "candidate", [](const std::string& text) { return CandidateRecord::parse(text); });
  Measurement& m = record.measurement;
  m.failure = parsed_field(object, "failure", [](const std::string& text) { return parse_failure_kind(text); });
  m.reason = text_field(object, "reason");
  m.min_seconds = real_field(object, "min_seconds");
  m.median_seconds = real_field(object, "median_seconds");
  m.repeats = integer_field<int>(object, "repeats");
  m.number = integer_field<std::int64_t>(object, "number");
  m.build_seconds = real_field(object, "build_seconds");
  m.run_seconds = real_field(object, "run_seconds");
  m.max_error = real_field(object, "max_error");
  if (!field(object, "trace").is_null()) record.trace = text_field(object, "trace");
  record.strategy = text_field(object, "strategy");
  record.seed = integer_field<std::uint64_t>(object, "seed");
  record.created_unix_ms = integer_field<std::int64_t>(object, "created_unix_ms");
  return record;
}

}  // namespace temper::record
