// The state behind `lower`: one instance lowers one program.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "temper/lower/emitter.h"
#include "temper/lower/lower.h"

namespace temper::lower {

using analysis::Affine;
using analysis::Condition;
using analysis::Var;

/// What a loop variable is while its body is lowered.
struct Binding {
  enum class Kind : std::uint8_t { Unbound, Constant, Dynamic, Lane } kind = Kind::Unbound;
  std::int64_t constant = 0;
  Value value = kNoValue;
};

/// An element of a register stage: lane `lane` of `value`; a scalar when the lane is -1; one partial per lane when it
/// is -2.
struct Slot {
  static constexpr int kScalar = -1, kPartials = -2;
  Value value = kNoValue;
  int lane = kScalar;
  int group = 0;  ///< elements written together: equal values of different groups part ways inside a loop
};

class Lowering {
 public:
  Lowering(const nest::Program& program, const LowerOptions& options);
  Kernel run() &&;

 private:
  /// Which lanes of a statement take part. kNoValue stands for "all".
  struct Mask {
    Value uniform = kNoValue;  ///< scalar: the same for every lane
    Value lanes = kNoValue;    ///< conditions that differ between lanes
    Value tail = kNoValue;     ///< lanes past the end of the loop
    bool maybe_empty = false;  ///< it may be that `lanes` and `tail` leave no lane at all
  };
  struct Lanes {
    Var var = -1;
    int width = 1;   ///< vector width of the current statement
    int active = 1;  ///< lanes from here on are masked off
  };

  // lower.cpp: buffers, phases, control flow
  void declare_buffers();
  void phase(const nest::Phase& phase);
  void block(const std::vector<nest::Node>& nodes);
  void node(const nest::Loop& loop);
  void node(const nest::FusedLoop& loop);
  void node(const nest::Branch& branch);
  void node(const nest::Allocate& allocate);
  void node(const nest::Statement& statement);
  void node(const nest::Prefetch& prefetch);
  void bind_components(const nest::FusedLoop& loop, Value counter);
  void branch_from(const nest::Branch& branch, std::size_t index);
  void counted_loop(Value begin, Value end, Var var, const std::vector<nest::Node>& body, const nest::FusedLoop* fused);
  Value bound(const nest::Loop& loop, bool upper);

  // registers.cpp
  /// A value in live register storages, with the elements that hold it.
  struct Carried {
    struct Place {
      int storage;
      std::size_t component, element;
      int lane, group;
    };
    Value value;
    std::vector<Place> places;
  };
  /// The distinct values of register storages that are live outside `bodies` and written inside.
  std::vector<Carried> carried_by(const std::vector<const std::vector<nest::Node>*>& bodies) const;
  /// Elements of live register storages that hold nothing yet and are written inside `bodies`. What a loop or a branch
  /// writes there is gone after it.
  std::vector<Carried::Place> unwritten_by(const std::vector<const std::vector<nest::Node>*>& bodies) const;
  void forget(const std::vector<Carried::Place>& places);
  void replace(const std::vector<Carried>& carried, const std::vector<Value>& with);
  std::vector<Value> current(const std::vector<Carried>& carried) const;
  Value read_register(int storage, int component, const std::vector<std::int64_t>& elements);
  void write_register(int storage, int component, const std::vector<std::int64_t>& elements, Value value);
  const std::vector<Value>& transposed(const std::vector<Value>& rows);
  std::vector<Slot>& slots(int storage, int component);
  /// Flat element of each lane, -1 for lanes that do not take part. Throws Error{Unsupported} when an index is not
  /// constant.
  std::vector<std::int64_t> register_elements(int storage, const std::vector<Affine>& index);

  // memory.cpp
  Affine fold(const Affine& form);
  Affine flat_offset(int storage, const std::vector<Affine>& index);
  /// Scalar I64 value of a folded form without lane terms; `constant` is left out and returned apart.
  Value materialise(const Affine& form);
  Value materialise_lanes(const Affine& form);
  Value with_displacement(Value base, std::int64_t displacement);
  bool lane_dependent(const Affine& form);
  Value load(int storage, int component, const std::vector<Affine>& index, const Mask& mask);
  /// Elements that lie side by side in memory, or one (one lane); what the block has loaded before is not loaded again.
  Value load_run(int storage, int buffer, Type type, int component, const Affine& from, Value lanes, Value uniform);
  /// Every `step`-th element: runs that lie side by side, and shuffles. Reads nothing behind the last active lane.
  Value load_strided(int storage, int buffer, Type type, int component, const Affine& from, std::int64_t step,
                     Value lanes, Value uniform);
  void store(int storage, int component, const std::vector<Affine>& index, Value value, const Mask& mask);
  /// Element of a row-major argument at indices known only at run time.
  Value load_at(int storage, int component, const std::vector<Value>& index, const Mask& mask);
  int buffer_of(int storage, int component);
  /// When an element that all lanes share may be read: as `mask.uniform` says, and only while a lane is left, unless
  /// the offset is inside of the buffer in any case.
  Value reads_shared(int buffer, const std::optional<Affine>& offset, const Mask& mask);
  void forget_loads(int storage);

  // expressions.cpp
  struct Param {
    Value value = kNoValue;
    const ir::Expr* expr = nullptr;  ///< evaluated where it is used, so that a product and a sum can fuse
  };
  Value evaluate(const ir::Expr& expr, const Mask& mask);
  Value evaluate_binary(const ir::ExprNode& node, const Mask& mask);
  Value evaluate_load(const ir::ExprNode& node, const Mask& mask);
  Value evaluate_select(const ir::ExprNode& node, const Mask& mask);
  Value evaluate_integer(const Affine& form, Scalar scalar);
  /// `v` with zeros outside of `keep`: as it is where a masked load has left zeros there.
  Value zeroed(Value v, Value keep);
  const ir::ExprNode* as_product(const ir::Expr& expr) const;
  analysis::AxisValue axis_lookup() const;
  /// Narrows `mask` by a condition. Returns false when it never holds.
  bool narrow(Mask& mask, const Condition& condition);
  void narrow(Mask& mask, Value condition);
  /// `holds_somewhere`: in at least one lane of the loop.
  void narrow_lanes(Mask& mask, Value condition, bool holds_somewhere);
  /// The lanes on which memory may be touched; kNoValue when all may.
  Value access_lanes(const Mask& mask);
  Value boolean(Value v);
  Value stored(Value v, ir::DType dtype);
  Value combine(const ir::Reducer& reducer, int component, std::vector<Param> params, const Mask& mask);

  // statements.cpp
  void define(const nest::Statement& statement, const Mask& mask);
  void initialise(const nest::Statement& statement, const Mask& mask);
  void update(const nest::Statement& statement, const Mask& mask);
  /// `accumulator` plus the product that `stage` sums up, in the lanes of `keep`; the others keep what they have (a
  /// zero there may lose its sign). kNoValue when `stage` is no sum of products of floats.
  Value add_product(const ir::Stage& stage, Value accumulator, Value keep, const Mask& mask);
  void finish(const nest::Statement& statement, const Mask& mask);
  std::vector<Value> reduce_lanes(const ir::Reducer& reducer, std::vector<Value> partials);
  std::vector<Affine> destination(const nest::Statement& statement) const;
  void write(const nest::Statement& statement, int component, Value value, const Mask& mask);
  Value read(const nest::Statement& statement, int component, const Mask& mask);
  bool in_registers(int storage) const {
    return program_.storages[static_cast<std::size_t>(storage)].kind == nest::StorageKind::Register;
  }
  Scalar value_scalar(ir::DType dtype) const { return dtype == ir::DType::Bool ? Scalar::I1 : scalar_of(dtype); }
  [[noreturn]] void refuse(int storage, const std::string& what) const;

  const nest::Program& program_;
  LowerOptions options_;
  analysis::VarSpace vars_;
  Kernel kernel_;
  Emitter emit_;
  std::vector<Binding> bindings_;
  Lanes lanes_;
  std::vector<std::vector<std::vector<Slot>>> registers_;  ///< [storage][component][element]; empty while not allocated
  std::vector<std::vector<int>> buffers_;                  ///< [storage][component]; -1 until declared
  int groups_ = 0;                                         ///< register writes so far
  std::int64_t scratch_ = 0, scratch_peak_ = 0;
  std::map<std::vector<Value>, std::vector<Value>> transposes_;
  /// Loads of the current block, by (storage, component, base, displacement, lanes, mask); gathers by their offsets.
  using LoadKey = std::tuple<int, int, Value, std::int64_t, int, Value>;
  std::vector<std::map<LoadKey, Value>> loads_;
  std::map<Value, Mask> masked_loads_;  ///< which are zero outside of the mask's lanes
  /// What was loaded by this key and cannot have changed since; `kNoValue`: nothing.
  Value known_load(const LoadKey& key) const;

  // the statement being lowered
  const nest::Statement* statement_ = nullptr;
  std::vector<std::pair<const ir::AxisNode*, Affine>> axes_;
  std::vector<Param> params_;
};

}  // namespace temper::lower
