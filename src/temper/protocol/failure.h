// Failures as they travel and as they are recorded.
#pragma once

#include "temper/protocol/messages.pb.h"
#include "temper/record/record.h"

namespace temper::protocol {

inline Failure to_message(record::FailureKind kind) { return static_cast<Failure>(kind); }

/// A value that this version does not know counts as a crash: the candidate failed, and nobody here can say how.
inline record::FailureKind from_message(Failure failure) {
  return Failure_IsValid(failure) ? static_cast<record::FailureKind>(failure) : record::FailureKind::Crash;
}

static_assert(FAILURE_NONE == static_cast<int>(record::FailureKind::None) &&
              FAILURE_INVALID_SCHEDULE == static_cast<int>(record::FailureKind::InvalidSchedule) &&
              FAILURE_RESOURCE_LIMIT == static_cast<int>(record::FailureKind::ResourceLimit) &&
              FAILURE_COMPILE_ERROR == static_cast<int>(record::FailureKind::CompileError) &&
              FAILURE_COMPILE_TIMEOUT == static_cast<int>(record::FailureKind::CompileTimeout) &&
              FAILURE_CRASH == static_cast<int>(record::FailureKind::Crash) &&
              FAILURE_RUN_TIMEOUT == static_cast<int>(record::FailureKind::RunTimeout) &&
              FAILURE_WRONG_RESULT == static_cast<int>(record::FailureKind::WrongResult) &&
              FAILURE_OUT_OF_BOUNDS == static_cast<int>(record::FailureKind::OutOfBounds) &&
              FAILURE_UNSTABLE == static_cast<int>(record::FailureKind::Unstable));

}  // namespace temper::protocol
