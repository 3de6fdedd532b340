// Features of the loop program itself, for learned models: what the statement that does most of the work looks like,
// and what stands around it.
//
// The *main statement* is the one with the most operations; its *block* is everything inside its innermost loop that
// stays a loop: unrolled copies of vectors. Operands are reads and writes that are not in registers.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "temper/cost/program_facts.h"
#include "temper/target/cpu.h"

namespace temper::cost {

struct FeatureInfo {
  std::string_view name;
  std::string_view doc;
};

/// In the order of `loop_features`. "log2" is of one more than the number.
std::span<const FeatureInfo> loop_feature_table();

/// One number for each line of the table; 0 where the program has no such thing.
std::vector<double> loop_features(const ProgramFacts& facts, const target::Target& target);

}  // namespace temper::cost
