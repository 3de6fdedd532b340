// Constants that stream in: every line of the next block is asked for, by whom, and how often.
#include "temper/space/tile_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "space/against_oracle.h"
#include "temper/ops/spec.h"
#include "temper/schedule/trace.h"
#include "temper/search/enumeration.h"

namespace temper::space {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Stream tiles(const std::vector<std::int64_t>& counts, std::int64_t step_bytes) {
  Stream stream{.cache = "B_cache", .blocks = {}, .repeats = {}};
  for (const std::int64_t count : counts) stream.repeats.push_back({{}, count});
  stream.step_bytes = step_bytes;
  return stream;
}

TEST(TileStream, RequestsAreAsFarApartAsLeavesATileOneLine) {
  EXPECT_EQ(steps_per_request(tiles({22}, 128), 768), 8) << "16 lines for 22 tiles; 12 steps would be 24";
  EXPECT_EQ(steps_per_request(tiles({3, 8}, 128), 768), 12);
  EXPECT_EQ(steps_per_request(tiles({22}, 128), 509), 1) << "a prime number of steps";
  EXPECT_EQ(steps_per_request(tiles({1000}, 128), 64), 64) << "once";
  EXPECT_EQ(steps_per_request(tiles({4}, 1024), 96), 1) << "more lines than tiles in a step already";
  EXPECT_EQ(steps_per_request(tiles({8}, 4), 1024), 128) << "a few bytes a step";
}

/// The lines that all tiles of a block ask for in an iteration, those of `counts` turns.
std::multiset<std::int64_t> asked(const std::vector<std::int64_t>& counts, std::int64_t step_bytes,
                                  std::int64_t steps) {
  schedule::Schedule s(ops::parse_spec("matmul(m=64,n=64,k=64,const=none)").compute);
  const std::string out = "matmul", local = s.cache_write(out);
  std::vector<schedule::Loop> outer = s.split(s.loops(out)[0], counts, schedule::Tail::Peel);
  s.compute_at(local, s.loops(out).back());
  Stream stream = tiles(counts, step_bytes);
  stream.cache = "B";
  stream.blocks = s.loops(out).back();
  for (std::size_t i = 0; i < counts.size(); ++i) stream.repeats[i].loop = outer[i];
  prefetch_next_block(s, stream, s.loops(local).back(), steps);
  const schedule::Prefetch& prefetch = s[s.stage(local)].prefetches.front();
  std::multiset<std::int64_t> lines;
  std::vector<std::int64_t> first{0};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    std::int64_t turn = 0;
    for (const schedule::Turn& t : prefetch.turns) turn += t.loop == outer[i] ? t.lines : 0;
    std::vector<std::int64_t> next;
    for (const std::int64_t at : first)
      for (std::int64_t n = 0; n < counts[i]; ++n) next.push_back(at + n * turn);
    first = next;
  }
  for (const std::int64_t at : first)
    for (std::int64_t i = 0; i < prefetch.lines; ++i) lines.insert(at + i);
  return lines;
}

TEST(TileStream, EveryLineIsAskedFor) {
  for (const std::vector<std::int64_t>& counts : {std::vector<std::int64_t>{4}, {7, 3}, {1, 5}, {2, 1, 6}}) {
    for (const std::int64_t bytes : {4, 64, 128, 320, 1024}) {
      for (const std::int64_t steps : {1, 3, 8}) {
        const std::multiset<std::int64_t> lines = asked(counts, bytes, steps);
        for (std::int64_t line = 0; line < (bytes * steps + 63) / 64; ++line)
          EXPECT_GE(lines.count(line), 1U) << "line " << line << " of " << steps << " x " << bytes << " bytes";
      }
    }
  }
  EXPECT_EQ(asked({4}, 128, 2), (std::multiset<std::int64_t>{0, 1, 2, 3})) << "once each";
  EXPECT_EQ(asked({3, 4}, 128, 2).count(3), 3U) << "the inner loop's tiles are enough: the outer one asks again";
}

std::string default_trace(const std::string& spec, std::int64_t l2_bytes = 1 << 20) {
  target::Target target = testing::vectors_of(64, 32);
  target.l2_bytes = l2_bytes;
  const ScheduleSpace space(ops::parse_spec(spec).compute, target);
  return print(space.materialise(space.default_candidate()).trace());
}

TEST(TileStream, WeightsAreStreamed) {
  EXPECT_THAT(default_trace("matmul(m=128,n=3072,k=768)"),
              AllOf(HasSubstr("split matmul_local k 8 peel"),
                    HasSubstr("prefetch_ahead B_cache matmul_local k.0 1 matmul n.0 m.0*1")));
  EXPECT_THAT(default_trace("conv2d(ic=64,h=14,w=14,oc=128,kh=3,kw=3,pad=1,layout=nhwc)"), HasSubstr("prefetch_ahead"));
  EXPECT_THAT(default_trace("conv2d(ic=64,h=14,w=14,oc=128,kh=3,kw=3,pad=1,layout=nchw)"), HasSubstr("prefetch_ahead"));
}

TEST(TileStream, OthersAreNot) {
  const auto streams = [](const std::string& spec, std::int64_t l2_bytes = 1 << 20) {
    return default_trace(spec, l2_bytes).find("prefetch_ahead") != std::string::npos;
  };
  EXPECT_FALSE(streams("matmul(m=1,n=3072,k=768)")) << "each block is read once";
  EXPECT_FALSE(streams("matmul(m=128,n=3072,k=768,const=none)")) << "no constant";
  EXPECT_TRUE(streams("matmul(m=128,n=64,k=768)"));
  EXPECT_FALSE(streams("matmul(m=128,n=48,k=768)")) << "one whole block";
  EXPECT_EQ(default_trace("matmul(m=128,n=32,k=768)").find("split matmul_local k"), std::string::npos)
      << "no loop for nothing";
  EXPECT_TRUE(streams("matmul(m=128,n=3072,k=768)", 2 * 768 * 128));
  EXPECT_FALSE(streams("matmul(m=128,n=3072,k=768)", 2 * 768 * 128 - 1)) << "two blocks do not fit";
  EXPECT_FALSE(streams("conv_transpose2d(ic=64,h=14,w=14,oc=128,kh=4,kw=4,stride=2,pad=1,layout=nhwc)"))
      << "the taps of a block are apart";
}

// Random candidates of every order, blocking and kernel: built, verified and right.
TEST(TileStream, CandidatesAreRight) {
  RandomStream random(7);
  int streamed = 0;
  for (const char* spec : {"matmul(m=13,n=37,k=19)", "matmul(m=70,n=24,k=16,batch=2,trans_b=1)",
                           "conv2d(ic=5,h=6,w=7,oc=20,kh=3,kw=3,pad=1,layout=nhwc)",
                           "conv2d(ic=6,h=7,w=9,oc=12,kh=3,kw=3,pad=1,layout=nchw)",
                           "conv2d(ic=8,h=9,w=9,oc=24,kh=1,kw=1,stride=2,layout=nhwc)"}) {
    const ScheduleSpace space(ops::parse_spec(spec).compute, testing::vectors_of(32, 16));
    const search::SpaceIndex index(space);
    for (int i = 0; i < 12; ++i) {
      const search::Candidate candidate = index.sample_by_design(random);
      streamed += print(space.materialise(candidate).trace()).find("prefetch_ahead") != std::string::npos ? 1 : 0;
      testing::expect_equal_to_oracle(space, candidate, random, spec + (" candidate " + std::to_string(i)));
    }
  }
  EXPECT_GT(streamed, 5);
}

}  // namespace
}  // namespace temper::space
