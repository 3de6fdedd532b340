#include "temper/target/cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "temper/support/error.h"

namespace temper::target {
namespace {

TEST(Cpu, DetectionIsConsistent) {
  const Target t = detect();
  EXPECT_FALSE(t.vendor.empty());
  EXPECT_TRUE(std::is_sorted(t.features.begin(), t.features.end()));
  EXPECT_TRUE(t.has("sse2"));
  EXPECT_EQ(t.vector_bytes == 64, t.vector_registers == 32);
  EXPECT_EQ(t.vector_bytes >= 32, t.has("avx2"));
  EXPECT_GE(t.l1d_bytes, 8 * 1024);
  EXPECT_GT(t.l2_bytes, t.l1d_bytes);
  EXPECT_GE(t.line_bytes, 16);
  EXPECT_GE(t.physical_cores, 1);
  EXPECT_GE(t.logical_cpus, t.physical_cores);
  EXPECT_EQ(t, detect());
}

TEST(Cpu, TextRoundTrips) {
  Target t = detect();
  t.peak_flops_per_second = 1.25e11 / 3;
  t.model_name = "a name  with spaces";
  EXPECT_EQ(parse_target(serialise(t)), t);
  Target bare;
  EXPECT_EQ(parse_target(serialise(bare)), bare);
}

TEST(Cpu, BadTextIsQuoted) {
  const std::string good = serialise(detect());
  const auto message = [](const std::string& text) {
    try {
      parse_target(text);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
      return e.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message(good + "colour blue\n"), "not a line of a target description: 'colour blue'");
  EXPECT_EQ(message(good + "family 12x\n"), "not a line of a target description: 'family 12x'");
  EXPECT_EQ(message("vendor me\n"), "a target description lacks 'model_name'");
}

TEST(Cpu, LimitingVectorsDropsWiderExtensions) {
  Target t;
  t.features = {"avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma", "sse2"};
  EXPECT_EQ(limit_vector_bytes(t, 64).vector_bytes, 64);
  EXPECT_EQ(limit_vector_bytes(t, 64).vector_registers, 32);
  const Target avx2 = limit_vector_bytes(t, 32);
  EXPECT_THAT(avx2.features, testing::ElementsAre("avx", "avx2", "fma", "sse2"));
  EXPECT_EQ(avx2.vector_bytes, 32);
  EXPECT_EQ(avx2.vector_registers, 16);
  EXPECT_EQ(limit_vector_bytes(t, 16).vector_bytes, 16);
  EXPECT_THROW(limit_vector_bytes(t, 48), Error);
}

TEST(Cpu, FingerprintFollowsWhatMattersForSpeed) {
  Target t = detect();
  Target other = t;
  other.logical_cpus += 7;
  other.peak_flops_per_second = 1;
  other.model_name = "else";
  EXPECT_EQ(fingerprint(t), fingerprint(other));
  other.l2_bytes *= 2;
  EXPECT_NE(fingerprint(t), fingerprint(other));
  other = t;
  other.features.push_back("zzz");
  EXPECT_NE(fingerprint(t), fingerprint(other));
}

}  // namespace
}  // namespace temper::target
