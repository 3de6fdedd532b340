// The table of built-in templates, most specific first.
#include "temper/space/generic_template.h"
#include "temper/space/row_template.h"
#include "temper/space/tile_template.h"

namespace temper::space {

namespace {

template <std::optional<TilePlan> (*Plan)(const SingleReduction&)>
Template tile_template(std::string name) {
  return {std::move(name),
          [](const ir::Compute& compute, const target::Target&) {
            const auto r = single_reduction(compute);
            return r && Plan(*r);
          },
          [](schedule::Schedule& s, Knobs& knobs, const target::Target& target) {
            const auto r = single_reduction(s.definition());
            apply_tile(s, knobs, target, *r, *Plan(*r));
          }};
}

const std::vector<Template>& table() {
  static const std::vector<Template> kTable = {
      tile_template<channels_plan>("channels"),
      tile_template<pixels_plan>("pixels"),
      tile_template<window_plan>("window"),
      {"rows", [](const ir::Compute& compute, const target::Target&) { return row_reductions(compute).has_value(); },
       [](schedule::Schedule& s, Knobs& knobs, const target::Target& target) { apply_rows(s, knobs, target, *row_reductions(s.definition())); }},
      {"generic", [](const ir::Compute&, const target::Target&) { return true; }, apply_generic},
  };
  return kTable;
}

}  // namespace

std::span<const Template> builtin_templates() { return table(); }

}  // namespace temper::space
