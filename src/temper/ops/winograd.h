// Convolution by minimal filtering: F(m x m, 3 x 3) computes a tile of m x m outputs from (m + 2) x (m + 2) inputs with
// one multiplication for each of those inputs, instead of 9 for each output. Sources: Winograd, Arithmetic Complexity
// of Computations (1980); Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2016). The points are 0,
// 1, -1 and infinity, with 2 and -2 for m = 4.
#pragma once

#include <string>

#include "temper/ops/conv2d.h"

namespace temper::ops {

/// Whether the shape is a dense 3x3 convolution of floats with stride and dilation 1.
bool is_minimal_filtering_shape(const Conv2dShape& shape);
/// Whether the transforms can cost less than the multiplications that they save: there are channels enough, and the
/// tiles do not compute twice as many outputs as there are.
bool minimal_filtering_may_pay(const Conv2dShape& shape, int m);

/// The function of `conv2d`, in stages. `m` is 2 or 4; with a = m + 2, tiles t counted over images, rows and columns of
/// tiles, and indices i, j < a of a transformed tile:
///   NAME_patch[i,j,t,ic]       the input, zero outside
///   NAME_patch_rows, NAME_transformed[i,j,t,ic]            its transform, columns first
///   NAME_filter_rows[i,kw,ic,oc], NAME_filter[i,j,ic,oc]   the transform of the weights: constant where they are
///   NAME_product[i,j,t,oc]     the sum over ic
///   NAME_rows[p,j,t,oc]        m of a rows of the output transform
///   NAME                       as `conv2d` lays it out
/// Rounding: the transforms' coefficients make terms larger than the result. Errors of uniform data stay below
/// 4 · eps · sum of |in · weight| for m = 2 and 64 · eps · that for m = 4, whatever the number of channels.
ir::Tensor minimal_filtering_conv2d(const Conv2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight, int m,
                                    const std::string& name);

}  // namespace temper::ops
