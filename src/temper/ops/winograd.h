// Convolution by minimal filtering: F(m x m, 3 x 3) computes a tile of m x m outputs from (m + 2) x (m + 2) inputs with
// one multiplication for each of those inputs, instead of 9 for each output. Sources: Winograd, Arithmetic Complexity
// of Computations (1980); Lavin and Gray, Fast Algorithms for Convolutional Neural Networks (2016), whose points 0,
// +-1,
// +-2 and infinity are used here.
#pragma once

#include <string>

#include "temper/ops/conv2d.h"

namespace temper::ops {

/// Whether the shape is a dense 3x3 convolution of floats with stride and dilation 1.
bool is_minimal_filtering_shape(const Conv2dShape& shape);

/// The function of `conv2d`, in stages. `m` is 2 or 4; with a = m + 2, tiles t counted over images, rows and columns of
/// tiles, and indices i, j < a of a transformed tile:
///   NAME_patch[i,j,t,ic]       the input, zero outside
///   NAME_patch_rows, NAME_transformed[i,j,t,ic]            its transform, columns first
///   NAME_filter_rows[i,kw,ic,oc], NAME_filter[i,j,ic,oc]   the transform of the weights: constant where they are
///   NAME_product[i,j,t,oc]     the sum over ic
///   NAME_rows[p,j,t,oc]        m of a rows of the output transform
///   NAME                       as `conv2d` lays it out
/// Rounding: the transforms' coefficients make terms larger than the result, see `minimal_filtering_growth`.
ir::Tensor minimal_filtering_conv2d(const Conv2dShape& shape, const ir::Tensor& in, const ir::Tensor& weight, int m,
                                    const std::string& name);

/// How much larger than those of `conv2d` the rounding errors may be: 4 for m = 2, 32 for m = 4. The bounds by the
/// transforms' norms are higher by a power of ten and are not met by any data of even spread.
double minimal_filtering_growth(int m);

}  // namespace temper::ops
