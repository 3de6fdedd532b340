#include "temper/nest/coverage.h"

#include <algorithm>

namespace temper::nest {

using analysis::Interval;
using analysis::Term;
using analysis::VarKind;

namespace {

/// Range of quotient - other for floor divisions by one divisor: their operands differ by a bounded amount.
Interval difference_of_quotients(const Affine& difference, std::int64_t divisor, const VarSpace& vars) {
  const Interval d = vars.range(difference);
  // floor(x + d) - floor(x) lies between floor(d / divisor) and ceil(d / divisor).
  return {analysis::floor_div(d.lo, divisor), analysis::ceil_div(d.hi, divisor)};
}

bool is_quotient(const VarSpace& vars, Var var) { return vars[var].kind == VarKind::FloorDiv; }

}  // namespace

Interval range_of(const Affine& form, const VarSpace& vars) {
  const auto first =
      std::find_if(form.terms.begin(), form.terms.end(), [&](const Term& term) { return is_quotient(vars, term.var); });
  if (first == form.terms.end()) return vars.range(form);
  const auto second = std::find_if(first + 1, form.terms.end(), [&](const Term& term) {
    return is_quotient(vars, term.var) && vars[term.var].divisor == vars[first->var].divisor &&
           term.coefficient == -first->coefficient;
  });
  if (second == form.terms.end()) return vars.range(form);
  const Interval part =
      difference_of_quotients(vars[first->var].operand - vars[second->var].operand, vars[first->var].divisor, vars);
  const std::int64_t scale = first->coefficient;
  const Affine rest = form - Affine::of(first->var, scale) - Affine::of(second->var, -scale);
  const Interval others = vars.range(rest), whole = vars.range(form);
  const std::int64_t a = scale * part.lo, b = scale * part.hi;
  return {std::max(whole.lo, others.lo + std::min(a, b)), std::min(whole.hi, others.hi + std::max(a, b))};
}

namespace {

/// Fills the gaps that the box has grown into. Returns whether copies overlap.
bool absorb(WriteBox& box) {
  bool overlap = false;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < box.strides.size(); ++i) {
      const Stride s = box.strides[i];
      if (s.step > box.extent[s.axis]) continue;
      overlap = overlap || s.step < box.extent[s.axis];
      box.extent[s.axis] += s.step * (s.count - 1);
      box.strides.erase(box.strides.begin() + static_cast<std::ptrdiff_t>(i));
      again = true;
      break;
    }
  }
  return overlap;
}

}  // namespace

Closed close(WriteBox& box, Var var, std::int64_t begin, std::int64_t end, const VarSpace& vars) {
  const std::int64_t count = end - begin;
  bool seen = false;
  for (std::size_t i = 0; i < box.lo.size(); ++i) {
    Affine& lo = box.lo[i];
    const std::int64_t c = lo.coefficient(var);
    if (c == 0) {
      if (vars.depends_on(lo, var)) return Closed::Torn;
      continue;
    }
    Affine rest = lo - Affine::of(var, c);
    if (vars.depends_on(rest, var) || (seen && count > 1)) return Closed::Torn;
    seen = true;
    rest.constant += c > 0 ? c * begin : c * (end - 1);
    lo = std::move(rest);
    if (count > 1) box.strides.push_back({i, c < 0 ? -c : c, count});
  }
  const bool overlap = absorb(box) || (count > 1 && !seen);
  box.repeated = box.repeated || overlap;
  return overlap ? Closed::Repeated : Closed::Tiled;
}

namespace {

/// Grows `a` by `b` when together they are a box; `overlap` is set when they share elements.
bool unite_boxes(WriteBox& a, const WriteBox& b, bool& overlap) {
  if (a.complete != b.complete || a.strides != b.strides) return false;
  std::size_t differing = a.lo.size();
  for (std::size_t i = 0; i < a.lo.size(); ++i) {
    if (a.extent[i] == b.extent[i] && a.lo[i] == b.lo[i]) continue;
    if (differing != a.lo.size()) return false;
    differing = i;
  }
  if (differing == a.lo.size()) {
    overlap = true;
    a.repeated = true;
    return true;
  }
  const Affine difference = b.lo[differing] - a.lo[differing];
  const bool gaps =
      std::any_of(a.strides.begin(), a.strides.end(), [&](const Stride& s) { return s.axis == differing; });
  if (!difference.is_constant() || gaps) return false;
  const std::int64_t d = difference.constant, own = a.extent[differing], other = b.extent[differing];
  if (d > own || -d > other) return false;
  const bool shared = d < own && -d < other;
  overlap = overlap || shared;
  a.repeated = a.repeated || b.repeated || shared;
  a.extent[differing] = std::max(own, d + other) - std::min<std::int64_t>(0, d);
  if (d < 0) a.lo[differing] = b.lo[differing];
  return true;
}

}  // namespace

bool merge(std::vector<WriteBox>& boxes, std::size_t first) {
  bool overlap = false;
  for (bool again = boxes.size() > first + 1; again;) {
    again = false;
    for (std::size_t i = first; i + 1 < boxes.size(); ++i) {
      for (std::size_t j = i + 1; j < boxes.size();) {
        if (unite_boxes(boxes[i], boxes[j], overlap)) {
          boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(j));
          again = true;
        } else {
          ++j;
        }
      }
    }
  }
  return overlap;
}

std::vector<Cell> uncovered(const Cell& whole, const std::vector<Cell>& parts) {
  const std::size_t rank = whole.lo.size();
  for (std::size_t i = 0; i < rank; ++i) {
    if (whole.lo[i] >= whole.hi[i]) return {};
  }
  std::vector<std::vector<std::int64_t>> faces(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    faces[i] = {whole.lo[i], whole.hi[i]};
    for (const Cell& part : parts) {
      for (std::int64_t face : {part.lo[i], part.hi[i]}) {
        if (face > whole.lo[i] && face < whole.hi[i]) faces[i].push_back(face);
      }
    }
    std::sort(faces[i].begin(), faces[i].end());
    faces[i].erase(std::unique(faces[i].begin(), faces[i].end()), faces[i].end());
  }
  std::vector<Cell> out;
  std::vector<std::size_t> at(rank, 0);
  while (true) {
    Cell cell;
    for (std::size_t i = 0; i < rank; ++i) {
      cell.lo.push_back(faces[i][at[i]]);
      cell.hi.push_back(faces[i][at[i] + 1]);
    }
    const bool covered = std::any_of(parts.begin(), parts.end(), [&](const Cell& part) {
      for (std::size_t i = 0; i < rank; ++i) {
        if (part.lo[i] > cell.lo[i] || part.hi[i] < cell.hi[i]) return false;
      }
      return true;
    });
    if (!covered) out.push_back(std::move(cell));
    std::size_t digit = rank;
    while (digit > 0 && ++at[digit - 1] + 1 == faces[digit - 1].size()) at[--digit] = 0;
    if (digit == 0) return out;
  }
}

bool overlapping(const std::vector<Cell>& cells) {
  for (std::size_t a = 0; a < cells.size(); ++a) {
    for (std::size_t b = a + 1; b < cells.size(); ++b) {
      bool apart = false;
      for (std::size_t i = 0; i < cells[a].lo.size(); ++i)
        apart = apart || cells[a].hi[i] <= cells[b].lo[i] || cells[b].hi[i] <= cells[a].lo[i];
      if (!apart) return true;
    }
  }
  return false;
}

}  // namespace temper::nest
