// Random compute definitions of the kinds that a schedule has to deal with: products, convolutions, pooling, row
// reductions, elementwise chains, movement. Extents are tiny, prime and padded as often as round; some tensors have
// gaps between their elements.
#pragma once

#include <string>

#include "temper/ir/compute.h"
#include "temper/support/random.h"

namespace temper::fuzz {

struct Definition {
  std::string kind;     ///< "matmul", "conv", ...
  ir::Compute compute;  ///< verified by `ir::verify`
  bool exact = true;    ///< floating arithmetic on small integers gives no rounding error
};

/// The same stream gives the same definition.
Definition random_definition(RandomStream& random);

}  // namespace temper::fuzz
