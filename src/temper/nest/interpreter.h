// Runs a loop program as it stands, one scalar at a time, lanes in order. It shares nothing with `lower`: where the
// interpreter and the oracle agree and the kernel does not, the fault lies behind `nest`.
#pragma once

#include <vector>

#include "temper/ir/oracle.h"
#include "temper/nest/program.h"

namespace temper::nest {

struct Interpretation {
  std::vector<std::vector<std::vector<double>>> outputs;  ///< [output][component][element], row-major
};

/// Runs every phase. Floating arithmetic is f64. Throws Error{Internal} that names the stage when an access leaves its
/// storage, an element is read that nothing has written, or an output element is never written.
Interpretation interpret(const Program& program, const ir::Inputs& inputs);

}  // namespace temper::nest
