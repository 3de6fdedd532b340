// A cost model that learned from other tasks: it ranks the candidates of a task of which nothing was measured.
//
// It scores rows of named columns. The names are its contract: a column that belongs to a design (a knob, the design
// itself) may be absent from a task and is then missing; all others must be there, or the model was made by a Temper
// with other features. On disk it is one file: a head of text lines, then the bytes of its members.
//
//   temper-cost-model 1
//   target zen5-...                  fingerprint of the target whose times it learned
//   vector_bytes 64
//   rows 25000
//   task 1f0c...                     hash of the key of each task that it learned from
//   column fact.flops                each column
//   member xgboost 0.5 1048576      kind, weight, bytes of each model; their weighted scores are added
//   payload 1049600 8d2f...          bytes that follow and their hash
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "temper/cost/cost_model.h"

namespace temper::cost {

inline constexpr int kModelSchema = 1;

class PretrainedModel {
 public:
  struct Member {
    std::string kind;  ///< name of a `cost_models()` entry
    double weight = 1;
    std::shared_ptr<const CostModel> model;
  };
  /// What a model is, beside its members.
  struct Card {
    std::string target;  ///< fingerprint
    int vector_bytes = 0;
    std::uint64_t rows = 0;
    std::vector<std::uint64_t> tasks;  ///< `task_hash` of what it learned from
    std::vector<std::string> columns;
    bool operator==(const Card&) const = default;
  };

  /// Requires trained members for as many columns as the card names.
  PretrainedModel(Card card, std::vector<Member> members);

  const Card& card() const { return card_; }
  bool knows(std::uint64_t task) const;

  /// Natural logarithms of speed, up to a number that is the same for all rows of a task; higher is faster. The rows
  /// have the columns of the card, in its order.
  std::vector<double> predict(const FeatureMatrix& rows) const;

  std::string serialise() const;
  /// Throws Error{Corrupt} for bytes that are damaged or no model, Error{Version} for another schema; `where` names
  /// the file.
  static PretrainedModel parse(std::string_view bytes, const std::string& where);
  /// Throws as `OutputFile`.
  void save(const std::filesystem::path& file) const;
  /// Throws Error{NotFound} when there is no such file, and as `parse`.
  static PretrainedModel load(const std::filesystem::path& file);

 private:
  Card card_;
  std::vector<Member> members_;
};

std::uint64_t task_hash(std::string_view key);

/// Picks the columns of a model out of rows with other columns.
class ColumnMap {
 public:
  /// Throws Error{Unsupported} when `wanted` has a column that is not in `given` and belongs to no design.
  ColumnMap(std::span<const std::string> wanted, std::span<const std::string> given);
  void append(std::span<const float> given, FeatureMatrix& wanted) const;

 private:
  std::vector<std::ptrdiff_t> from_;  ///< -1: missing
  mutable std::vector<float> row_;
};

}  // namespace temper::cost
