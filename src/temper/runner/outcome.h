// The result of a stage of a measurement.
#pragma once

#include <string>

#include "temper/record/record.h"

namespace temper::runner {

struct Outcome {
  record::FailureKind failure = record::FailureKind::None;
  std::string reason;
  bool ok() const { return failure == record::FailureKind::None; }
};

}  // namespace temper::runner
