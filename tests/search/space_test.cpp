#include "temper/search/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/toy_space.h"
#include "temper/search/enumeration.h"
#include "temper/support/error.h"

namespace temper::search {
namespace {

TEST(Space, CandidatesRoundTripThroughRecords) {
  const FakeSpace space = toy_matmul();
  const SpaceIndex index(space);
  RandomStream random(1);
  for (int i = 0; i < 200; ++i) {
    const Candidate candidate = index.sample(random);
    const record::CandidateRecord record = to_record(space, candidate);
    EXPECT_EQ(from_record(space, record), candidate);
    EXPECT_EQ(record.design, space.designs()[static_cast<std::size_t>(candidate.design)].name);
    EXPECT_EQ(record.knobs[0].second, values(space, candidate)[0]);
  }
}

TEST(Space, RecordsOfAnotherSpaceAreRefusedByName) {
  const FakeSpace space({{"tile", {{"rows", {1, 2, 4}}, {"unroll", {1, 2}}}, {}}});
  const auto message = [&](const record::CandidateRecord& record) -> std::string {
    try {
      from_record(space, record);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::NotFound);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message({"tile", {{"unroll", 2}, {"rows", 4}}}), "accepted");
  EXPECT_THAT(message({"winograd", {}}), ::testing::HasSubstr("no design 'winograd'"));
  EXPECT_THAT(message({"tile", {{"rows", 1}}}), ::testing::HasSubstr("sets 1 knobs, the design has 2"));
  EXPECT_THAT(message({"tile", {{"rows", 1}, {"columns", 1}}}), ::testing::HasSubstr("no knob 'columns'"));
  EXPECT_THAT(message({"tile", {{"rows", 1}, {"rows", 1}}}), ::testing::HasSubstr("knob 'rows' twice"));
  EXPECT_THAT(message({"tile", {{"rows", 3}, {"unroll", 1}}}),
              ::testing::HasSubstr("knob 'rows' no longer offers the value 3"));
}

TEST(Space, HashTellsDesignsAndChoicesApart) {
  CandidateSet seen;
  std::unordered_set<std::uint64_t> hashes;
  for (int design = 0; design < 4; ++design) {
    for (std::int32_t a = 0; a < 20; ++a) {
      for (std::int32_t b = 0; b < 20; ++b) {
        seen.insert({design, {a, b}});
        hashes.insert(Candidate{design, {a, b}}.hash());
      }
    }
  }
  EXPECT_EQ(seen.size(), 1600u);
  EXPECT_EQ(hashes.size(), 1600u);
}

}  // namespace
}  // namespace temper::search
