// A small neural network that learns the order of candidates within each task.
//
// Columns are standardised over the rows learned from; what is missing counts as the mean. Layers of rectified linear
// units end in one number. Training compares pairs of rows of one group (`pairwise_loss.h`). Adam (Kingma and Ba, ICLR
// 2015), with a learning rate that falls to zero. The same seed gives the same network on the same machine.
#pragma once

#include "temper/cost/cost_model.h"

namespace temper::cost {

CostModelInfo mlp_model();

}  // namespace temper::cost
