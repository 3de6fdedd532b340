// The table of built-in templates, most specific first.
#include "temper/space/chain_template.h"
#include "temper/space/generic_template.h"
#include "temper/space/row_template.h"
#include "temper/space/tile_template.h"
#include "temper/space/transform_template.h"

namespace temper::space {

namespace {

using Apply = std::function<void(schedule::Schedule&, Knobs&)>;

template <std::optional<TilePlan> (*Plan)(const SingleReduction&)>
Apply tile(const ir::Compute& compute, const target::Target& target) {
  const std::optional<SingleReduction> reduction = single_reduction(compute);
  if (!reduction) return nullptr;
  const std::optional<TilePlan> plan = Plan(*reduction);
  if (!plan) return nullptr;
  return
      [r = *reduction, p = *plan, target](schedule::Schedule& s, Knobs& knobs) { apply_tile(s, knobs, target, r, p); };
}

Apply rows(const ir::Compute& compute, const target::Target& target) {
  const std::optional<RowReductions> reductions = row_reductions(compute);
  if (!reductions) return nullptr;
  return [r = *reductions, target](schedule::Schedule& s, Knobs& knobs) { apply_rows(s, knobs, target, r); };
}

Apply transformed(const ir::Compute& compute, const target::Target& target) {
  const std::optional<TransformedProduct> product = transformed_product(compute);
  if (!product) return nullptr;
  return [p = *product, target](schedule::Schedule& s, Knobs& knobs) { apply_transformed(s, knobs, target, p); };
}

Apply chain(const ir::Compute& compute, const target::Target& target) {
  const std::optional<ProductChain> products = product_chain(compute);
  if (!products) return nullptr;
  return [p = *products, target](schedule::Schedule& s, Knobs& knobs) { apply_chain(s, knobs, target, p); };
}

Apply generic(const ir::Compute&, const target::Target& target) {
  return [target](schedule::Schedule& s, Knobs& knobs) { apply_generic(s, knobs, target); };
}

const std::vector<Template>& table() {
  static const std::vector<Template> kTable = {
      {"channels", {}, {}, tile<channels_plan>},
      {"pixels", {}, {}, tile<pixels_plan>},
      {"window", {}, {}, tile<window_plan>},
      {"rows", {}, {}, rows},
      {"tiles", {}, {}, transformed},
      {"chain", {}, {}, chain},
      {"generic", {}, {}, generic, true},
  };
  return kTable;
}

}  // namespace

std::span<const Template> builtin_templates() { return table(); }

}  // namespace temper::space
