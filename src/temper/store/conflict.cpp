#include "temper/store/conflict.h"

#include <charconv>
#include <compare>
#include <string_view>
#include <tuple>
#include <vector>

namespace temper::store {
namespace {

using record::FailureKind;

/// The numbers of "0.12.3"; a part that is none counts as -1.
std::vector<int> version_numbers(std::string_view text) {
  std::vector<int> numbers;
  while (true) {
    const std::string_view part = text.substr(0, text.find('.'));
    int number = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), number);
    numbers.push_back(read.ec == std::errc{} && read.ptr == part.data() + part.size() ? number : -1);
    if (part.size() == text.size()) return numbers;
    text.remove_prefix(part.size() + 1);
  }
}

int worth(FailureKind kind) {
  switch (kind) {
    case FailureKind::Unstable: return 0;
    case FailureKind::CompileTimeout:
    case FailureKind::RunTimeout:
    case FailureKind::ResourceLimit: return 1;
    case FailureKind::None: return 2;
    case FailureKind::InvalidSchedule:
    case FailureKind::CompileError:
    case FailureKind::Crash:
    case FailureKind::WrongResult:
    case FailureKind::OutOfBounds: return 3;
  }
  return 0;
}

}  // namespace

bool same_program(const Record& a, const Record& b) {
  return a.definition_hash == b.definition_hash && a.schema == b.schema && a.temper_version == b.temper_version;
}

bool outranks(const Record& a, const Record& b) {
  if (a.schema != b.schema) return a.schema > b.schema;
  if (a.temper_version != b.temper_version) {
    const std::vector<int> x = version_numbers(a.temper_version), y = version_numbers(b.temper_version);
    return x != y ? x > y : a.temper_version > b.temper_version;
  }
  const record::Measurement &x = a.measurement, &y = b.measurement;
  return std::tuple(worth(x.failure), x.repeats, a.created_unix_ms, x.ok() ? -x.min_seconds : 0, a.definition_hash) >
         std::tuple(worth(y.failure), y.repeats, b.created_unix_ms, y.ok() ? -y.min_seconds : 0, b.definition_hash);
}

bool gives_way(const Record& stored, const Record& fresh, OnConflict on_conflict) {
  switch (on_conflict) {
    case OnConflict::Keep: return false;
    case OnConflict::Replace: return true;
    case OnConflict::KeepBetter: return outranks(fresh, stored);
    case OnConflict::ReplaceStale:
      return !same_program(stored, fresh) || stored.measurement.failure == FailureKind::Unstable;
  }
  return false;
}

}  // namespace temper::store
