// Element types by their number in ONNX (TensorProto.DataType).
#pragma once

#include <cstdint>

#include "temper/ir/dtype.h"

namespace temper::graph {

std::int64_t onnx_number(ir::DType dtype);

}  // namespace temper::graph
