// The template for products between transforms: one reduction that multiplies transformed data with transformed
// constants, whose result is transformed back tile by tile. Minimal filtering of convolutions is of that form, and so
// is any other bilinear algorithm on tiles.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "temper/ir/compute.h"
#include "temper/space/template.h"

namespace temper::space {

///   source ─ data_chain ─► data[i.., t, k]  ─┐
///   constants ─ filter_chain ─► filter[i..,k,o] ─┴► product[i.., t, o] ─ result_chain ─► result ─ elementwise ─►
///   output
struct TransformedProduct {
  ir::StagePtr product, data, filter, result, output, source;
  std::vector<std::string> data_chain;    ///< from the one that reads `source` on, without `data`
  std::vector<std::string> filter_chain;  ///< without `filter`
  std::vector<std::string> result_chain;  ///< between product and result
  std::vector<std::string> elementwise;   ///< to inline into the output, `result` among them unless it is the output
  /// The output's axes: images, two tiled ones (rows and columns), channels. A tile covers `tile` x `tile` of them.
  std::size_t image_axis = 0, row_axis = 0, column_axis = 0, channel_axis = 0;
  std::int64_t tile = 1;
  std::size_t source_channel_axis = 0;
};
/// Nothing when the definition is not of that form.
std::optional<TransformedProduct> transformed_product(const ir::Compute& compute);

void apply_transformed(schedule::Schedule& s, Knobs& knobs, const target::Target& target, const TransformedProduct& p);

}  // namespace temper::space
