#include "temper/search/ranking.h"

#include <algorithm>

#include "temper/support/error.h"

namespace temper::search {

bool Ranking::before(const Entry* a, const Entry* b) {
  if (a->told.seconds != b->told.seconds) return a->told.seconds < b->told.seconds;
  return a->arrival < b->arrival;
}

void Ranking::record(const Told& told) {
  if (const auto old = entries_.find(told.candidate); old != entries_.end()) {
    erase(&old->second);
    entries_.erase(old);
  }
  if (!told.ok) return;
  insert(&entries_.emplace(told.candidate, Entry{told, arrivals_++}).first->second);
}

const Told& Ranking::operator[](std::size_t place) const {
  TEMPER_CHECK(place < size(), "a place past the end of a ranking was asked for");
  std::size_t block = 0;
  while (place >= blocks_[block].size()) place -= blocks_[block++].size();
  return blocks_[block][place]->told;
}

std::size_t Ranking::block_of(const Entry* entry) const {
  const auto found = std::partition_point(blocks_.begin(), blocks_.end(),
                                          [&](const auto& block) { return before(block.back(), entry); });
  return static_cast<std::size_t>(found - blocks_.begin());
}

void Ranking::insert(const Entry* entry) {
  constexpr std::size_t kLargestBlock = 512;
  if (blocks_.empty()) {
    blocks_.push_back({entry});
    return;
  }
  const std::size_t at = std::min(block_of(entry), blocks_.size() - 1);
  std::vector<const Entry*>& block = blocks_[at];
  block.insert(std::upper_bound(block.begin(), block.end(), entry, before), entry);
  if (block.size() <= kLargestBlock) return;
  const auto middle = block.begin() + static_cast<std::ptrdiff_t>(block.size() / 2);
  std::vector<const Entry*> upper(middle, block.end());
  block.erase(middle, block.end());
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(upper));
}

void Ranking::erase(const Entry* entry) {
  const std::size_t at = block_of(entry);
  std::vector<const Entry*>& block = blocks_[at];
  block.erase(std::lower_bound(block.begin(), block.end(), entry, before));
  if (block.empty()) blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace temper::search
