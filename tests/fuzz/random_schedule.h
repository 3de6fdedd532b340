// Random but plausible schedules of a compute definition.
#pragma once

#include <map>
#include <string>

#include "temper/schedule/schedule.h"
#include "temper/support/random.h"

namespace temper::fuzz {

/// Applies random primitives to a fresh schedule. A primitive whose precondition does not hold is left out and counted
/// in `refused` by its rule. The same stream gives the same schedule.
schedule::Schedule random_schedule(const ir::Compute& compute, RandomStream& random,
                                   std::map<std::string, int>& refused);

}  // namespace temper::fuzz
