// SPEC strings: one operator on the command line.
//
//   matmul(m=512,n=512,k=512)            optional: batch, trans_a, trans_b, epilogue, const, dtype
//   conv2d(n=1,ic=64,h=56,w=56,oc=64,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1)
//                                        optional from n, stride on: layout, epilogue, const, dtype
//   conv1d(n=1,ic=64,w=256,oc=128,kw=3,stride=1,pad=1,dilation=1,groups=1)
//                                        a conv2d with one row: the same task, by the same key
//   conv_transpose2d(n=1,ic=64,h=16,w=16,oc=32,kh=4,kw=4,stride=2,pad=1,output_padding=0,groups=1)
//                                        optional from n, stride on: layout (nchw, nhwc), epilogue, const, dtype
//   softmax(rows=1024,cols=1024)         optional: dtype
//   layernorm(rows=128,cols=768)         optional: epsilon, const, dtype
//
// stride, dilation, output_padding: one number or y:x. pad: one number, y:x, or top:left:bottom:right (conv1d:
// left:right). layout: nchw (default) or nhwc. epilogue: items joined by '+' (epilogue.h). const: weights (default) or
// none. dtype: f32 (default) or f64.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/ops/workload.h"

namespace temper::ops {

/// Throws Error{InvalidArgument} that names the word it could not read and says what was expected.
Workload parse_spec(std::string_view spec);

struct SpecField {
  std::string_view name;
  std::string_view if_absent;  ///< empty: required
  std::string_view meaning;
};
/// One operator that SPEC strings can name.
struct SpecOperator {
  std::string_view name;
  std::vector<SpecField> fields;
};
/// For `--help` and error messages.
std::span<const SpecOperator> spec_operators();
/// The shortest SPEC of an operator: "softmax(rows=N,cols=N)".
std::string spec_form(const SpecOperator& op);

}  // namespace temper::ops
