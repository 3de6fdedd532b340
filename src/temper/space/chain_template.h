// The template of two products in a row, as in attention: everything at a block of queries of one head.
//
//   parallel over heads and blocks of queries:
//     the block's queries, turned: [depth][query]
//     scores[key][query], tile by tile in registers      vectors along queries: keys are broadcast, and rows of scores
//     row by row: maximum, exponentials with their sum    are reduced without ever crossing lanes
//     values, tile by tile in registers, into the output  vectors along the depth: weights are broadcast
//
// The scores of a block stay in the first two cache levels. The maximum may follow each tile of scores, while that is
// in the first one.
#pragma once

#include "temper/space/structure.h"
#include "temper/space/template.h"

namespace temper::space {

void apply_chain(schedule::Schedule& s, Knobs& knobs, const target::Target& target, const ProductChain& chain);

}  // namespace temper::space
