// Kernel: what a code generator receives. A structured SSA program over scalars and explicit vectors; nothing in it
// knows about operators, axes or schedules.
//
// Values are numbered; each is defined once. Control flow is `For` (with carried values, like block arguments) and
// `If`. Memory is a set of numbered buffers addressed by element offset. A phase is a loop of independent iterations
// whose index is the phase's `index` value.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "temper/ir/dtype.h"

namespace temper::lower {

/// Scalar kinds of SSA values. Index arithmetic is I64; conditions and masks are I1.
enum class Scalar : std::uint8_t { I1, I8, U8, I32, I64, F32, F64 };
struct Type {
  Scalar scalar = Scalar::I64;
  int lanes = 1;  ///< 1: a scalar
  bool operator==(const Type&) const = default;
};
bool is_float(Scalar scalar);
/// Register kind in which elements of `dtype` are computed (Bool and I8 load as I8, ...).
Scalar scalar_of(ir::DType dtype);
int bytes(Scalar scalar);

using Value = std::int32_t;
inline constexpr Value kNoValue = -1;

enum class Op : std::uint8_t {
  // constants
  ConstInt,    ///< `imm`, splat over the lanes (I1: 0 or 1)
  ConstFloat,  ///< `fimm`, splat
  ConstMask,   ///< I1 x lanes; lane i is bit i of `imm` (lanes <= 64)
  Iota,        ///< I64 x lanes: 0, 1, 2, ...
  Undef,
  // arithmetic, lane-wise; both operands have the result's type
  Add,
  Sub,
  Mul,
  Div,  ///< float: IEEE; integer: towards zero, never traps: x / 0 is x
  FloorDiv,
  Mod,  ///< integer only; divisor is a positive ConstInt
  Min,
  Max,  ///< float: NaN if either operand is NaN
  Fma,  ///< a*b + c, fused
  Neg,
  Abs,
  Not,
  And,
  Or,
  Xor,
  // comparisons: result I1 x lanes (float: ordered, except Ne which is unordered)
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  Select,  ///< args: condition (I1 x lanes, or scalar I1), then, else
  // elementary functions, float only. `expand_math` rewrites those from Exp on into arithmetic
  Sqrt,
  Floor,
  Ceil,
  Round,
  Exp,
  ExpNonPositive,  ///< Exp of what is never positive
  Log,
  Tanh,
  Erf,
  Sigmoid,
  Sin,
  Cos,
  Pow,
  Rsqrt,
  Sign,
  Cast,     ///< value conversion (float to int truncates), lanes kept
  Bitcast,  ///< same bits, lanes kept
  Shl,
  LShr,   ///< integer shifts by a lane-wise amount
  Ldexp,  ///< float: a * 2^b, rounded once, also where the result overflows or is subnormal; b is an integral float
  // lanes
  Broadcast,  ///< scalar to all lanes
  Extract,    ///< lane `imm` of a vector, as a scalar
  Insert,     ///< args: vector, scalar; lane `imm` replaced
  Shuffle,    ///< args: a, b (same type); `mask[i]` picks from the concatenation, -1: undefined. lanes = mask.size()
  // memory: `imm` is the buffer number; offsets are in elements (I64)
  Load,      ///< args: offset [, mask]; contiguous lanes; masked-off lanes are zero and their memory is not touched
  Store,     ///< args: offset, value [, mask]; no result
  Gather,    ///< args: offsets (I64 x lanes) [, mask]
  Scatter,   ///< args: offsets (I64 x lanes), value [, mask]; no result
  Prefetch,  ///< args: offset; no result
  // control
  For,  ///< args: begin, end; step in `imm`; `control` holds the rest
  If,   ///< args: condition (scalar I1); `control` holds the rest
};
std::string_view to_string(Op op);

struct Instr;
using Block = std::vector<Instr>;

/// Regions of a For or If.
///   For: body sees `induction` (I64) and `params` (one per carried value, initialised by `initial`); at the end of an
///        iteration `yields` become the next params; `results` are the last yields (or `initial` when there is no
///        iteration).
///   If:  `results[i]` is `yields[i]` of the taken block (`body`) or `else_yields[i]` of the other.
struct Control {
  Value induction = kNoValue;
  std::vector<Value> initial, params, yields, else_yields, results;
  Block body, else_body;
  bool barrier = false;  ///< For: keep loads of one iteration from being hoisted above the one before
};

struct Instr {
  Op op{};
  Value result = kNoValue;  ///< kNoValue for Store, Scatter, Prefetch, For, If
  std::vector<Value> args;
  std::int64_t imm = 0;
  double fimm = 0;
  std::vector<int> mask;
  std::shared_ptr<Control> control;  ///< For and If only; never shared between two instructions
};

enum class BufferRole : std::uint8_t { Input, Constant, Output, Blob, Workspace, Scratch, Stack };
struct Buffer {
  std::string name;
  BufferRole role{};
  ir::DType dtype{};
  std::int64_t elements = 0;
  std::int64_t offset = 0;  ///< Scratch: bytes from the start of the thread's scratch. Blob, Workspace: bytes from the
                            ///< start of the whole blob/workspace
  int argument = -1;        ///< index into the `buffers` array of the entry; -1 for Scratch and Stack
  bool used_by_run = true;  ///< Constant only
};

struct Phase {
  std::string name;
  std::int64_t extent = 1;
  Value index = kNoValue;  ///< the iteration, I64
  Block body;
  std::int64_t scratch_bytes = 0;
};

/// One entry of the argument array, in the order of the artifact interface (see target/artifact_abi.h).
struct Argument {
  std::string name;
  BufferRole role{};
  ir::DType dtype{};
  std::int64_t bytes = 0;
  bool used_by_run = true;
};

struct Kernel {
  std::vector<Argument> arguments;
  std::vector<Buffer> buffers;  ///< numbered; Stack buffers are per phase invocation
  std::vector<Phase> prepare, run;
  std::vector<Type> types;  ///< type of each value
  Value new_value(Type type) {
    types.push_back(type);
    return static_cast<Value>(types.size() - 1);
  }
};

/// Text of a kernel, for people and golden tests.
std::string print(const Kernel& kernel);
/// Checks types, single definition, dominance, buffer numbers and masks. Throws Error{Internal} that names the
/// instruction.
void verify(const Kernel& kernel);

/// Pass: rewrites Exp, ExpNonPositive, Log, Tanh, Erf, Sigmoid, Sin, Cos, Pow, Rsqrt and Sign into arithmetic. Error
/// bounds are stated at each expansion in math.cpp and tested over the whole range.
void expand_math(Kernel& kernel);

}  // namespace temper::lower
