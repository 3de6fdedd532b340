// What the form of a floating-point expression says about its sign.
#pragma once

#include "temper/ir/compute.h"

namespace temper::analysis {

/// Whether the expression is at most 0, or NaN, at every element of whatever tensors it reads; false also when its form
/// does not show it. Shown are: numbers; -|x|; the smaller of two numbers one of which is never positive; and x - m
/// where m reads a maximum that has x among its terms, as in softmax. Stages that stand for one expression are seen
/// through, so caches of a schedule hide nothing.
bool never_positive(const ir::Expr& value);

}  // namespace temper::analysis
