// Emits one phase of a kernel as an LLVM function, in SSA form from the start: loops have phis, and no value lives in
// memory but the kernel's own stack buffers. No LLVM pass cleans up after it, so addresses are built in the shape that
// instruction selection wants: [base + what the loops add] shared by all accesses that differ in a constant.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "temper/codegen/llvm/linear.h"
#include "temper/codegen/llvm/module_emitter.h"
#include "temper/lower/kernel.h"

namespace temper::codegen {

class FunctionEmitter {
 public:
  /// `function` is void(ptr buffers, ptr scratch, i64 begin, i64 end), still without a body.
  FunctionEmitter(const lower::Kernel& kernel, const EmitterContext& context, llvm::Function& function);

  void emit(const lower::Phase& phase);

 private:
  /// A region of code that runs under its parent's control: function, loop body, branch.
  struct Scope {
    llvm::Instruction* entered_by =
        nullptr;  ///< branch in the parent that leads here: the parent's code may be added before it
    std::map<std::pair<int, Linear>, llvm::Value*> pointers;  ///< (buffer, variable offset) → address
    std::map<Linear, llvm::Value*> sums;                      ///< variable part → i64
    std::vector<lower::Value> materialised;                   ///< values whose IR lives in this scope only
  };

  // --- function_emitter.cpp: control flow
  void block(const lower::Block& block);
  void instruction(const lower::Instr& instr);
  void for_loop(const lower::Instr& instr);
  void if_else(const lower::Instr& instr);
  void unroll_once(const lower::Control& control, const Linear& begin);
  void fence();
  void split_block();
  void enter(llvm::Instruction* branch);
  void leave();
  void define(lower::Value v, llvm::Value* value);
  void define_atom(lower::Value v, llvm::Value* value);
  void alias(lower::Value v, lower::Value same_as);
  /// The IR of a value; a sum of indices is computed here, where it is first wanted.
  llvm::Value* get(lower::Value v);
  llvm::Value* index_value(const Linear& form);
  llvm::Type* type(const lower::Type& type) const;
  const lower::Type& kernel_type(lower::Value v) const { return kernel_.types[static_cast<std::size_t>(v)]; }
  llvm::BasicBlock* new_block(const char* name);

  // --- arithmetic.cpp: everything without memory
  llvm::Value* arithmetic(const lower::Instr& instr);
  llvm::Value* constant(const lower::Instr& instr);
  llvm::Value* compare(const lower::Instr& instr);
  llvm::Value* compare_lanes(const lower::Instr& instr);
  llvm::Value* divide(const lower::Instr& instr);
  llvm::Value* floor_divide(const lower::Instr& instr, bool quotient);
  llvm::Value* minimum_maximum(const lower::Instr& instr);
  llvm::Value* select(const lower::Instr& instr);
  llvm::Value* cast(const lower::Instr& instr);
  llvm::Value* ldexp(const lower::Instr& instr);
  llvm::Value* scalef(llvm::Value* a, llvm::Value* b, const lower::Type& type);
  llvm::Value* ldexp_by_bits(llvm::Value* a, llvm::Value* b, const lower::Type& type);
  llvm::Value* shuffle(const lower::Instr& instr);

  // --- memory.cpp
  llvm::Value* load(const lower::Instr& instr);
  void store(const lower::Instr& instr);
  llvm::Value* gather(const lower::Instr& instr);
  void scatter(const lower::Instr& instr);
  void prefetch(const lower::Instr& instr);
  /// Lanes [first, first + lanes) of a masked access and their mask.
  struct MaskedPart {
    int first, lanes;
    llvm::Value* mask;
  };
  std::vector<MaskedPart> masked_parts(llvm::Value* mask, int lanes_in_a_register);
  int pointers_in_a_vector() const { return context_.target.vector_bytes / 8; }
  llvm::Value* lanes_of(llvm::Value* vector, int first, int count);
  /// `vector` with the lanes from `first` on replaced by those of `part`.
  llvm::Value* with_lanes(llvm::Value* vector, llvm::Value* part, int first);
  llvm::Value* address(int buffer, lower::Value offset);
  llvm::Value* address(int buffer, const Linear& offset);
  llvm::Value* addresses(int buffer, lower::Value offsets);
  llvm::Value* base_pointer(int buffer);
  llvm::Value* partial_pointer(int buffer, const Linear& terms, std::size_t depth);
  llvm::Value* partial_sum(const Linear& terms, std::size_t depth);
  llvm::Value* times(llvm::Value* index, std::int64_t factor);
  std::size_t depth_of(lower::Value atom) const { return depths_[static_cast<std::size_t>(atom)]; }
  /// Sets the builder to where code of scope `depth` can be added now.
  void insert_at(std::size_t depth);

  const lower::Kernel& kernel_;
  const EmitterContext& context_;
  llvm::LLVMContext& llvm_;
  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
  LinearForms forms_;
  std::vector<llvm::Value*> values_;
  std::vector<std::size_t> depths_;  ///< scope in which an atom is defined
  std::vector<bool> never_nan_;
  int fmas_in_block_ = 0;
  std::vector<Scope> scopes_;

  std::vector<llvm::Value*> bases_;  ///< address of each buffer's first element, once it is known
};

}  // namespace temper::codegen
