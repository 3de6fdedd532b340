#include <array>
#include <string>

#include "temper/record/record.h"
#include "temper/support/error.h"

namespace temper::record {
namespace {

struct KindName {
  FailureKind kind;
  std::string_view name;
};
// These names are on disk and in JSON: add, never rename.
constexpr std::array kKinds = {
    KindName{FailureKind::None, "none"},
    KindName{FailureKind::InvalidSchedule, "invalid_schedule"},
    KindName{FailureKind::ResourceLimit, "resource_limit"},
    KindName{FailureKind::CompileError, "compile_error"},
    KindName{FailureKind::CompileTimeout, "compile_timeout"},
    KindName{FailureKind::Crash, "crash"},
    KindName{FailureKind::RunTimeout, "run_timeout"},
    KindName{FailureKind::WrongResult, "wrong_result"},
    KindName{FailureKind::OutOfBounds, "out_of_bounds"},
    KindName{FailureKind::Unstable, "unstable"},
};

}  // namespace

std::string_view to_string(FailureKind kind) {
  for (const KindName& entry : kKinds) {
    if (entry.kind == kind) return entry.name;
  }
  check_failed("kind", __FILE__, __LINE__, "a failure kind without a name");
}

FailureKind parse_failure_kind(std::string_view text) {
  std::string known;
  for (const KindName& entry : kKinds) {
    if (entry.name == text) return entry.kind;
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(ErrorCode::InvalidArgument, "unknown failure kind '" + std::string(text) + "'", {},
              "known kinds: " + known);
}

}  // namespace temper::record
