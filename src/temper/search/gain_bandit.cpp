#include "temper/search/gain_bandit.h"

namespace temper::search {

void GainBandit::credit(std::size_t member, double gain) {
  for (Member& other : members_) {
    other.gain *= options_.memory;
    other.evaluations *= options_.memory;
  }
  members_[member].evaluations += 1;
  members_[member].gain += gain;
}

std::vector<double> GainBandit::shares() const {
  double gain = 0, evaluations = 0;
  for (const Member& member : members_) {
    gain += member.gain;
    evaluations += member.evaluations;
  }
  const double mean = evaluations > 0 ? gain / evaluations : 0, equal = 1.0 / static_cast<double>(members_.size());
  std::vector<double> rates;
  double sum = 0;
  for (const Member& member : members_) {
    rates.push_back((member.gain + options_.trust * mean) / (member.evaluations + options_.trust));
    sum += rates.back();
  }
  for (double& rate : rates) {
    rate = sum > 0 ? options_.floor * equal + (1 - options_.floor) * rate / sum : equal;
  }
  return rates;
}

std::size_t GainBandit::draw(RandomStream& random) const {
  const std::vector<double> share = shares();
  double left = random.uniform_real();
  for (std::size_t member = 0; member < share.size(); ++member) {
    left -= share[member];
    if (left < 0) return member;
  }
  return share.size() - 1;
}

}  // namespace temper::search
