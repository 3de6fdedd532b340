#include "temper/search/ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "temper/support/random.h"

namespace temper::search {
namespace {

/// The same by the plainest means.
class SortedList {
 public:
  void record(const Told& told) {
    std::erase_if(list_, [&](const Told& old) { return old.candidate == told.candidate; });
    if (!told.ok) return;
    const auto faster = [](const Told& a, const Told& b) { return a.seconds < b.seconds; };
    list_.insert(std::upper_bound(list_.begin(), list_.end(), told, faster), told);
  }
  const std::vector<Told>& list() const { return list_; }

 private:
  std::vector<Told> list_;
};

TEST(Ranking, IsASortedListWithRepeatsTiesAndFailures) {
  for (const std::int32_t candidates : {5, 100, 5000}) {
    RandomStream random(static_cast<std::uint64_t>(candidates));
    Ranking ranking;
    SortedList expected;
    EXPECT_TRUE(ranking.empty());
    for (int i = 0; i < 4000; ++i) {
      const auto number = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(candidates)));
      const Told told{{0, {number}}, random.chance(0.8), static_cast<double>(random.below(50))};
      ranking.record(told);
      expected.record(told);
      ASSERT_EQ(ranking.size(), expected.list().size());
      if (i % 200 != 0 && i < 3999) continue;
      for (std::size_t place = 0; place < ranking.size(); ++place) {
        ASSERT_EQ(ranking[place].candidate, expected.list()[place].candidate) << place;
        ASSERT_EQ(ranking[place].seconds, expected.list()[place].seconds);
      }
    }
  }
}

TEST(Ranking, EmptiesAgain) {
  Ranking ranking;
  for (const bool ok : {true, false}) {
    for (std::int32_t i = 0; i < 2000; ++i) ranking.record({{0, {i}}, ok, 1.0 * (i % 7)});
  }
  EXPECT_TRUE(ranking.empty());
  ranking.record({{0, {3}}, true, 2});
  EXPECT_EQ(ranking.front().candidate.choice[0], 3);
}

}  // namespace
}  // namespace temper::search
