// Minimal filtering against the convolution's own definition, and for which shapes it is offered.
#include "temper/ops/winograd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "temper/ir/oracle.h"
#include "temper/ops/spec.h"
#include "temper/support/random.h"

namespace temper::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::byte> uniform(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements *= extent;
  RandomStream random(seed);
  std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * sizeof(float));
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const auto value = static_cast<float>(random.uniform_real(-1, 1));
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
  return bytes;
}

/// Every element of the definition `m` (0: the convolution itself).
std::vector<double> outputs(const Conv2dShape& s, int m) {
  const ir::Tensor in = ir::placeholder("in", extents(s.input_shape())),
                   weight = ir::constant("weight", extents(s.weight_shape()));
  const ir::Compute compute =
      ir::make_compute({m == 0 ? conv2d(s, in, weight, "conv") : minimal_filtering_conv2d(s, in, weight, m, "conv")});
  ir::verify(compute);
  const std::vector<std::byte> data = uniform(s.input_shape(), 1), filter = uniform(s.weight_shape(), 2);
  return ir::Oracle(compute, {{"in", data}, {"weight", filter}}).all(*compute.outputs[0]);
}

TEST(MinimalFiltering, EqualsTheConvolution) {
  struct Case {
    std::int64_t n, ic, h, w, oc, top, left, bottom, right;
  };
  for (const Case& c :
       {Case{1, 2, 7, 7, 3, 1, 1, 1, 1}, Case{2, 3, 9, 6, 2, 1, 1, 1, 1}, Case{1, 1, 5, 8, 1, 0, 0, 0, 0},
        Case{3, 2, 4, 4, 2, 1, 0, 0, 2}, Case{1, 4, 3, 13, 5, 2, 2, 2, 2}, Case{1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    for (const Layout layout : {Layout::Nchw, Layout::Nhwc}) {
      Conv2dShape s;
      s.n = c.n;
      s.ic = c.ic;
      s.oc = c.oc;
      s.y = {c.h, 3, 1, 1, c.top, c.bottom};
      s.x = {c.w, 3, 1, 1, c.left, c.right};
      s.layout = layout;
      s = conv2d_shape(s);
      const std::vector<double> wanted = outputs(s, 0);
      for (const int m : {2, 4}) {
        const std::vector<double> got = outputs(s, m);
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], wanted[i], 1e-5) << "F(" << m << ",3), " << c.h << "x" << c.w << ", element " << i;
      }
    }
  }
}

std::vector<std::string> algorithms(const std::string& spec) {
  std::vector<std::string> out;
  for (const Alternative& alternative : parse_spec("conv2d(" + spec + ")").alternatives)
    out.push_back(alternative.algorithm);
  return out;
}

TEST(MinimalFiltering, IsAnAlternativeWhereItMayPay) {
  const std::string rest = ",h=14,w=14,oc=32,pad=1";
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3" + rest), ElementsAre("winograd2", "winograd4"));
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3,layout=nhwc,epilogue=bias+relu" + rest),
              ElementsAre("winograd2", "winograd4"));
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3,stride=2" + rest), IsEmpty());
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3,dilation=2" + rest), IsEmpty());
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3,groups=2" + rest), IsEmpty());
  EXPECT_THAT(algorithms("ic=32,kh=5,kw=3" + rest), IsEmpty());
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3,dtype=f64" + rest), IsEmpty());
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3,const=none" + rest), IsEmpty());
  EXPECT_THAT(algorithms("ic=3,kh=3,kw=3" + rest), IsEmpty());
  // 5 x 5 outputs are 25 of the 64 that tiles of 4 x 4 compute, and of the 36 of tiles of 2 x 2.
  EXPECT_THAT(algorithms("ic=32,kh=3,kw=3,h=5,w=5,oc=32,pad=1"), ElementsAre("winograd2"));
}

TEST(MinimalFiltering, AlternativesHaveTheInputsAndOutputsOfTheReference) {
  const Workload workload = parse_spec("conv2d(ic=9,h=11,w=14,oc=10,kh=3,kw=3,pad=1,epilogue=bias+add+relu)");
  for (const Alternative& alternative : workload.alternatives) {
    for (const ir::StagePtr& stage : workload.compute.stages) {
      if (stage->kind != ir::StageKind::Placeholder) continue;
      EXPECT_EQ(alternative.compute.stage(stage->name)->shape(), stage->shape());
      EXPECT_EQ(alternative.compute.stage(stage->name)->constant, stage->constant);
    }
    EXPECT_EQ(alternative.compute.outputs[0]->name, "out");
    EXPECT_EQ(alternative.compute.outputs[0]->shape(), workload.compute.outputs[0]->shape());
  }
}

}  // namespace
}  // namespace temper::ops
