// Measurements kept in order of speed while they come in, in nearly constant time each however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "temper/search/strategy.h"

namespace temper::search {

/// The latest successful measurement of each candidate, fastest first; of equal times the one that came first leads.
class Ranking {
 public:
  /// Replaces what was known of the candidate; a failure takes it out.
  void record(const Told& told);

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const Told& front() const { return (*this)[0]; }
  /// Requires place < size(). Meant for the first places; steps over blocks of some hundreds of entries.
  const Told& operator[](std::size_t place) const;

 private:
  struct Entry {
    Told told;
    std::uint64_t arrival = 0;
  };
  static bool before(const Entry* a, const Entry* b);
  /// The first block that may hold `entry`, or blocks_.size() when it belongs behind all of them.
  std::size_t block_of(const Entry* entry) const;
  void insert(const Entry* entry);
  void erase(const Entry* entry);

  CandidateMap<Entry> entries_;  // a node stays where it is: blocks point to it
  /// In order, none of them empty.
  std::vector<std::vector<const Entry*>> blocks_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace temper::search
