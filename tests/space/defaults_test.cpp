// Every definition has a default schedule, whatever its sizes: it can be materialised, built and verified.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "temper/nest/build.h"
#include "temper/ops/spec.h"
#include "temper/schedule/trace.h"
#include "temper/space/template.h"
#include "temper/support/error.h"

namespace temper::space {
namespace {

target::Target avx2() {
  target::Target target;
  target.vector_bytes = 32;
  target.vector_registers = 16;
  target.l2_bytes = 1 << 20;
  return target;
}
target::Target avx512() {
  target::Target target;
  target.vector_bytes = 64;
  target.vector_registers = 32;
  target.l2_bytes = 1 << 20;
  return target;
}

/// The design of the default, which is built and verified on the way; or what went wrong.
std::string default_design(const std::string& spec, const target::Target& target) {
  try {
    const ScheduleSpace space(ops::parse_spec(spec).compute, target);
    const search::Candidate candidate = space.default_candidate();
    const schedule::Schedule schedule = space.materialise(candidate);
    nest::verify(nest::build(schedule), schedule);
    return space.designs()[static_cast<std::size_t>(candidate.design)].name;
  } catch (const std::exception& error) {
    return error.what();
  }
}

const std::vector<std::string> kDesigns{"channels", "pixels", "window", "rows", "chain", "generic"};

void expect_default(const std::string& spec) {
  for (const target::Target& target : {avx2(), avx512()})
    EXPECT_THAT(kDesigns, ::testing::Contains(default_design(spec, target))) << spec;
}

TEST(Defaults, MatmulOfEverySize) {
  for (const int m : {1, 2, 7, 13, 64})
    for (const int n : {1, 3, 5, 8, 17, 96})
      for (const int k : {1, 2, 3, 31})
        expect_default("matmul(m=" + std::to_string(m) + ",n=" + std::to_string(n) + ",k=" + std::to_string(k) +
                       ",epilogue=bias+relu)");
}

TEST(Defaults, MatmulWithATransposedOperandOfEverySize) {
  for (const int n : {1, 5, 16, 19, 96})
    for (const int k : {1, 3, 16, 37})
      for (const char* rest : {"batch=1", "batch=3", "batch=2,const=none", "const=none"})
        expect_default("matmul(m=7,n=" + std::to_string(n) + ",k=" + std::to_string(k) + ",trans_b=1," + rest + ")");
}

TEST(Defaults, ConvolutionInBlocksOfChannelsIsATile) {
  for (const target::Target& target : {avx2(), avx512()}) {
    EXPECT_EQ(default_design("conv2d(ic=32,h=14,w=14,oc=48,kh=3,kw=3,pad=1,layout=nchw16c)", target), "channels");
    EXPECT_EQ(default_design("conv2d(ic=16,h=7,w=7,oc=8,kh=1,kw=1,stride=2,layout=nchw8c)", target), "channels");
  }
}

TEST(Defaults, ConvolutionsWithGroupsOfEverySize) {
  for (const char* layout : {"nchw", "nhwc"}) {
    for (const int groups : {1, 2, 3, 4}) {
      for (const int in : {1, 2, 3, 8}) {
        for (const int out : {1, 2, 3, 4, 5, 6, 8, 12}) {
          expect_default("conv2d(n=3,ic=" + std::to_string(groups * in) +
                         ",h=6,w=5,oc=" + std::to_string(groups * out) +
                         ",kh=3,kw=3,pad=1,groups=" + std::to_string(groups) + ",layout=" + layout + ")");
        }
      }
    }
  }
}

TEST(Defaults, WindowsOfEveryKind) {
  for (const char* layout : {"nchw", "nhwc"}) {
    for (const char* window : {"kh=1,kw=1", "kh=1,kw=1,stride=2", "kh=3,kw=3,stride=2,pad=1", "kh=3,kw=1,pad=1:0",
                               "kh=2,kw=5,dilation=2,pad=4", "kh=7,kw=7,stride=2,pad=3"}) {
      for (const char* channels : {"ic=1,oc=1", "ic=3,oc=7", "ic=5,oc=5,groups=5", "ic=16,oc=33"}) {
        expect_default(std::string("conv2d(n=1,h=9,w=13,") + channels + "," + window + ",layout=" + layout + ")");
      }
    }
  }
}

TEST(Defaults, EpiloguesWithOperandsOfEveryShape) {
  for (const char* layout : {"nchw", "nhwc"}) {
    for (const char* channels : {"ic=1,oc=1", "ic=3,oc=7", "ic=6,oc=6,groups=6", "ic=16,oc=33"}) {
      for (const char* window : {"kh=1,kw=1", "kh=3,kw=3,pad=1"}) {
        expect_default(std::string("conv2d(n=2,h=6,w=15,") + channels + "," + window + ",layout=" + layout +
                       ",epilogue=bias+imagemul+upadd:2:3+add)");
      }
    }
  }
  expect_default("matmul(m=15,n=17,k=3,epilogue=imagemul+imageadd)");
  expect_default("matmul(batch=2,m=15,n=17,k=3,epilogue=imagemul,const=none)");
}

TEST(Defaults, TransposedConvolutionsOfEveryKind) {
  for (const char* layout : {"nchw", "nhwc"}) {
    for (const char* window : {"kh=4,kw=4,stride=2,pad=1", "kh=2,kw=2,stride=2", "kh=3,kw=5,stride=2:3,pad=1",
                               "kh=3,kw=3,pad=1", "kh=1,kw=3,stride=1:2,output_padding=0:1"}) {
      for (const char* channels : {"ic=1,oc=1", "ic=3,oc=7", "ic=4,oc=6,groups=2", "ic=16,oc=33"})
        expect_default(std::string("conv_transpose2d(h=5,w=9,") + channels + "," + window + ",layout=" + layout + ")");
    }
  }
}

// Output channels as vectors: each row of a tile then has taps of its own, which repeat with the stride.
TEST(Defaults, TransposedConvolutionsAreTiles) {
  for (const char* layout : {"nchw", "nhwc"}) {
    const std::string spec =
        std::string("conv_transpose2d(ic=16,h=8,w=8,oc=32,kh=4,kw=4,stride=2,pad=1,layout=") + layout + ")";
    EXPECT_EQ(default_design(spec, avx2()), "channels");
    EXPECT_EQ(default_design(spec, avx512()), "channels");
  }
}

// Weights that do not fit the second-level cache are read once for all images, else every image goes over all of them.
TEST(Defaults, VectorsGoRoundTheImagesWhereWeightsAreLarge) {
  const auto tiles = [](const std::string& channels) {
    const ScheduleSpace space(
        ops::parse_spec("conv2d(n=2,h=7,w=7,kh=3,kw=3,pad=1,layout=nhwc," + channels + ")").compute, avx512());
    return print(space.materialise(space.default_candidate()).trace());
  };
  EXPECT_THAT(tiles("ic=256,oc=512"), ::testing::HasSubstr("fuse conv oc.0,n,y,x.0"));
  EXPECT_THAT(tiles("ic=64,oc=64"), ::testing::HasSubstr("fuse conv n,oc.0,y,x.0"));
}

TEST(Defaults, RowsOfEverySize) {
  for (const int rows : {1, 3, 64})
    for (const int columns : {1, 2, 7, 16, 100, 1000})
      for (const char* op : {"softmax", "layernorm"})
        expect_default(std::string(op) + "(rows=" + std::to_string(rows) + ",cols=" + std::to_string(columns) + ")");
}

TEST(Defaults, RowsTakeTheWidestVectorsThatTheyFill) {
  const auto lanes = [](int columns, const target::Target& target) {
    const ScheduleSpace space(ops::parse_spec("softmax(rows=8,cols=" + std::to_string(columns) + ")").compute, target);
    const search::Candidate candidate = space.default_candidate();
    const search::Design& design = space.designs()[static_cast<std::size_t>(candidate.design)];
    EXPECT_EQ(design.name, "rows");
    return search::values(space, candidate)[static_cast<std::size_t>(search::knob_index(design, "store_lanes"))];
  };
  EXPECT_EQ(lanes(1024, avx512()), 64);
  EXPECT_EQ(lanes(40, avx512()), 32);
  EXPECT_EQ(lanes(20, avx512()), 16);
  EXPECT_EQ(lanes(1024, avx2()), 16) << "half as many registers";
  EXPECT_EQ(lanes(12, avx2()), 8);
}

// A group of three channels holds no vector, so the design that puts channels into vectors has no valid candidate.
TEST(Defaults, ADesignWithoutCandidatesIsPassedOver) {
  const std::string groups = ",h=6,w=5,kh=3,kw=3,pad=1,groups=3,layout=nhwc)";
  EXPECT_EQ(default_design("conv2d(n=3,ic=9,oc=24" + groups, avx2()), "channels");
  EXPECT_NE(default_design("conv2d(n=3,ic=9,oc=9" + groups, avx2()), "channels");
}

// Every candidate that the constraints admit can be built, also where inputs are held in registers.
TEST(Windows, HeldInputsFitTheRegisters) {
  for (const target::Target& target : {avx2(), avx512()}) {
    const ScheduleSpace space(
        ops::parse_spec("conv2d(n=1,ic=2,h=6,w=11,oc=2,kh=3,kw=3,stride=2,pad=1,groups=2)").compute, target);
    int held = 0;
    for (std::size_t d = 0; d < space.designs().size(); ++d) {
      const search::Design& design = space.designs()[d];
      const int hold = search::knob_index(design, "hold");
      if (design.name != "window") continue;
      ASSERT_GE(hold, 0);
      search::Candidate candidate{static_cast<int>(d), std::vector<std::int32_t>(design.knobs.size(), 0)};
      const auto advance = [&] {
        for (std::size_t k = 0; k < design.knobs.size(); ++k) {
          if (++candidate.choice[k] < std::ssize(design.knobs[k].values)) return true;
          candidate.choice[k] = 0;
        }
        return false;
      };
      do {
        const std::vector<std::int64_t> values = search::values(space, candidate);
        if (values[static_cast<std::size_t>(hold)] == 0) continue;
        const bool valid = std::all_of(design.constraints.begin(), design.constraints.end(), [&](const auto& c) {
          std::vector<std::int64_t> of;
          for (const std::string& name : c.knobs)
            of.push_back(values[static_cast<std::size_t>(search::knob_index(design, name))]);
          return c.holds(of);
        });
        if (!valid) continue;
        ++held;
        for (const char* name : {"kw", "kh"})
          EXPECT_GT(values[static_cast<std::size_t>(search::knob_index(design, name))], 0)
              << name << ": registers are read at constant places";
        const schedule::Schedule schedule = space.materialise(candidate);
        const nest::Program program = nest::build(schedule);
        nest::verify(program, schedule);
        std::int64_t most = 0;
        for (const nest::Storage& storage : program.storages) {
          if (storage.kind != nest::StorageKind::Register ||
              !program.stages[static_cast<std::size_t>(storage.stage)]->name.ends_with("_cache"))
            continue;
          std::int64_t vectors = 1;
          for (std::size_t i = 0; i < storage.extents.size(); ++i) {
            const std::int64_t lanes = i + 1 == storage.extents.size() ? target.vector_bytes / 4 : 1;
            vectors *= (storage.extents[i] + lanes - 1) / lanes;
          }
          most = std::max(most, vectors);
        }
        EXPECT_GT(most, 0);
        EXPECT_LT(most, target.vector_registers);
      } while (advance());
    }
    EXPECT_GT(held, 0);
  }
}

// What another stage looks up by a value must be in memory: inlined or kept in registers it could not be indexed.
TEST(Defaults, LookedUpStagesAreLeftToTheGenericTemplate) {
  const ir::Tensor in = ir::placeholder("in", {3, 8}), label = ir::placeholder("label", {3}, ir::DType::I64);
  const ir::Tensor total = ir::define("total", {3}, [&](ir::Axis i) {
    const ir::Axis k = ir::reduce("k", 8);
    return ir::sum(in(i, k), {k});
  });
  const ir::Tensor share =
      ir::define("share", {3, 8}, [&](ir::Axis i, ir::Axis j) { return ir::Definition(in(i, j) / total(i)); });
  const ir::Tensor out = ir::define(
      "out", {3}, [&](ir::Axis i) { return ir::Definition(share(i, ir::min(ir::max(label(i), 0), ir::Expr(7)))); });
  const ScheduleSpace space(ir::make_compute({out}), avx2());
  const search::Candidate candidate = space.default_candidate();
  EXPECT_EQ(space.designs()[static_cast<std::size_t>(candidate.design)].name, "generic");
  const schedule::Schedule schedule = space.materialise(candidate);
  nest::verify(nest::build(schedule), schedule);
}

TEST(Defaults, WithoutAnyDesignTheReasonsAreNamed) {
  const std::vector<Template> templates{{"never", [](const ir::Compute&, const target::Target&) { return true; },
                                         [](schedule::Schedule&, Knobs& knobs, const target::Target&) {
                                           knobs.choice("tile", {2, 4}, 4);
                                           knobs.require("odd tiles", {"tile"}, [](auto v) { return v[0] % 2 == 1; });
                                         }}};
  const ScheduleSpace space(ops::parse_spec("matmul(m=4,n=4,k=4)").compute, avx2(), templates);
  try {
    (void)space.default_candidate();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no design has a valid default; never: 'odd tiles' cannot hold"));
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
  }
}

}  // namespace
}  // namespace temper::space
