#include "temper/runtime/artifact_image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "artifacts/artifacts.h"
#include "temper/runtime/kernel_instance.h"
#include "temper/support/error.h"

namespace temper::runtime {
namespace {

using temper::testing::artifact_bytes;

ErrorCode code_of(std::span<const std::byte> bytes) {
  try {
    ArtifactImage::load(bytes);
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "it was loaded";
  return ErrorCode::Internal;
}

TEST(ArtifactImage, DescribesItself) {
  const ArtifactImage image = ArtifactImage::load(artifact_bytes("two_phases"));
  ASSERT_EQ(image.buffers().size(), 3u);
  EXPECT_STREQ(image.buffers()[2].name, "sums");
  EXPECT_EQ(image.buffers()[2].role, TEMPER_WORKSPACE);
  EXPECT_EQ(image.find_buffer("y"), 1);
  EXPECT_EQ(image.find_buffer("nobody"), -1);
  EXPECT_EQ(image.run().size(), 2u);
  EXPECT_TRUE(image.prepare().empty());
  EXPECT_EQ(image.scratch_bytes(), 128);
}

TEST(ArtifactImage, TwoAtOnceAreTwo) {
  // The loader knows images by path; the second must not be mistaken for the first.
  ArtifactImage first = ArtifactImage::load(artifact_bytes("add"));
  const ArtifactImage second = ArtifactImage::load(artifact_bytes("two_phases"));
  EXPECT_EQ(first.find_buffer("z"), 2);
  EXPECT_EQ(second.find_buffer("sums"), 2);
  first = ArtifactImage::load(artifact_bytes("scale_prepared"));
  EXPECT_EQ(first.find_buffer("blob"), 2);
}

TEST(ArtifactImage, RefusesWhatIsNoArtifact) {
  const std::vector<std::byte> good = artifact_bytes("add");
  EXPECT_EQ(code_of({}), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(std::span(good).first(40)), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(std::span(good).first(600)), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(std::vector<std::byte>(5000)), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(artifact_bytes("bad_magic")), ErrorCode::Corrupt);
  EXPECT_EQ(code_of(artifact_bytes("bad_version")), ErrorCode::Version);
  std::vector<std::byte> other = good;
  const std::string symbol = TEMPER_ARTIFACT_SYMBOL;
  for (std::size_t i = 0; i + symbol.size() < other.size(); ++i) {
    if (std::memcmp(other.data() + i, symbol.data(), symbol.size() + 1) == 0) other[i] = std::byte{'x'};
  }
  EXPECT_EQ(code_of(other), ErrorCode::Corrupt);
}

class KernelInstanceTest : public ::testing::TestWithParam<int> {};

TEST_P(KernelInstanceTest, PreparesOnceAndRuns) {
  ThreadPool pool(GetParam());
  KernelInstance kernel(ArtifactImage::load(artifact_bytes("scale_prepared")), pool);
  alignas(64) std::array<float, 64> x, w, y;
  for (int i = 0; i < 64; ++i) {
    x[static_cast<std::size_t>(i)] = static_cast<float>(i);
    w[static_cast<std::size_t>(i)] = static_cast<float>(i % 5);
  }
  const void* inputs[] = {x.data()};
  const void* constants[] = {w.data()};
  void* outputs[] = {y.data()};
  EXPECT_THROW(kernel.run(inputs, outputs), Error) << "its constants are missing";
  EXPECT_THROW(kernel.prepare({}), Error);
  kernel.prepare(constants);
  EXPECT_THROW(kernel.run({}, outputs), Error);
  for (int repeat = 0; repeat < 3; ++repeat) {
    y.fill(-1);
    kernel.run(inputs, outputs);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], x[i] * w[i] * w[i] + w[i]);
  }
}

TEST_P(KernelInstanceTest, LivesInMemoryOfOthers) {
  ThreadPool pool(GetParam());
  KernelInstance kernel(ArtifactImage::load(artifact_bytes("scale_prepared")), pool);
  alignas(64) std::array<float, 64> x, w, y;
  x.fill(3);
  w.fill(2);
  const void* inputs[] = {x.data()};
  const void* constants[] = {w.data()};
  void* outputs[] = {y.data()};
  kernel.prepare(constants);
  AlignedBuffer memory(kernel.own_bytes());
  EXPECT_GT(memory.bytes(), 0);
  kernel.move_to(memory.span());
  EXPECT_THROW(kernel.run(inputs, outputs), Error) << "nothing is prepared there";
  kernel.prepare(constants);
  EXPECT_FALSE(std::ranges::all_of(memory.span(), [](std::byte b) { return b == std::byte{0}; }));
  kernel.run(inputs, outputs);
  EXPECT_EQ(y[63], 3 * 4 + 2);
  EXPECT_THROW(kernel.move_to(memory.span().first(32)), Error) << "it is too small";
}

TEST_P(KernelInstanceTest, GivesPhasesWorkspaceAndScratch) {
  ThreadPool pool(GetParam());
  KernelInstance kernel(ArtifactImage::load(artifact_bytes("two_phases")), pool);
  alignas(64) std::array<float, 64> x, y;
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  const void* inputs[] = {x.data()};
  void* outputs[] = {y.data()};
  kernel.run(inputs, outputs);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(y[i], 2 * x[63 - i]);
}

INSTANTIATE_TEST_SUITE_P(Threads, KernelInstanceTest, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace temper::runtime
