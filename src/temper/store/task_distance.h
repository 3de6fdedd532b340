// How far apart two tasks are: how much one's records say about the other.
#pragma once

#include "temper/record/record.h"

namespace temper::store {

/// What a field costs that is no number of another size but another thing: a layout, an epilogue, a flag that is zero
/// on one side. As much as a size that is eight times larger.
inline constexpr double kOtherValue = 3;

/// The sum over all fields of both keys, matched by name (a name that comes again: in order). Fields with equal texts
/// cost nothing. Fields that differ in their numbers alone cost the sum of |log2| of the ratios of these, at most
/// `kOtherValue` a number: m=256 and m=512 are 1 apart, in=f32[1;3;48;200] and in=f32[1;3;24;100] are 2 apart. A field
/// that differs otherwise, or that one side lacks, costs `kOtherValue`. Infinite for different operators. Symmetric;
/// 0 exactly for equal keys but for the order of their fields.
double distance(const record::TaskKey& a, const record::TaskKey& b);

}  // namespace temper::store
