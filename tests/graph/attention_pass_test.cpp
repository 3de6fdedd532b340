// Attention written as several nodes, and what is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/run_pass.h"
#include "temper/graph/passes/attention.h"
#include "temper/graph/pipeline.h"
#include "temper/graph/tasks.h"

namespace temper::graph {
namespace {

using testing::after;
using testing::attribute;
using testing::ModelBuilder;
using testing::operators;

using Order = std::vector<std::int64_t>;

/// The inner part of attention as exporters write it: heads are moved outside and back.
struct Encoder {
  std::int64_t queries = 9;
  bool mask = true;
  bool moves_back = true;
  float divisor = 2;
  std::int64_t axis = -1;

  ModelBuilder model() const {
    ModelBuilder b;
    b.input("q", {2, queries, 3, 4}).input("k", {2, 5, 3, 4}).input("v", {2, 5, 3, 6}).input("m", {2, 1, 1, 5});
    b.floats("two", {}, {divisor});
    b.node("Transpose", {"q"}, {"qh"}, attribute("perm", Order{0, 2, 1, 3}));
    if (moves_back) {
      b.node("Transpose", {"k"}, {"kh"}, attribute("perm", Order{0, 2, 3, 1}));
    } else {
      b.node("Transpose", {"k"}, {"ko"}, attribute("perm", Order{0, 2, 1, 3}));
      b.node("Transpose", {"ko"}, {"kh"}, attribute("perm", Order{0, 1, 3, 2}));
    }
    b.node("Transpose", {"v"}, {"vh"}, attribute("perm", Order{0, 2, 1, 3}));
    b.node("MatMul", {"qh", "kh"}, {"product"}).node("Div", {"product", "two"}, {"scaled"});
    if (mask) b.node("Add", {"scaled", "m"}, {"masked"});
    b.node("Softmax", {mask ? "masked" : "scaled"}, {"weights"}, attribute("axis", axis));
    b.node("MatMul", {"weights", "vh"}, {"values"});
    if (moves_back) b.node("Transpose", {"values"}, {"y"}, attribute("perm", Order{0, 2, 1, 3}));
    b.output(moves_back ? "y" : "values");
    return b;
  }
};

TEST(AttentionPass, TransposesOfHeadsDisappear) {
  for (const bool mask : {false, true}) {
    Encoder encoder;
    encoder.mask = mask;
    const Graph g = after(recognise_attention, encoder.model());
    EXPECT_EQ(operators(g), "Reshape,Reshape,Reshape,Attention,Reshape");
    const Node& node = g.nodes[3];
    EXPECT_EQ(node.inputs.size(), mask ? 4U : 3U);
    EXPECT_EQ(node.attributes.number("scale", 0), 0.5);
    EXPECT_EQ(node.attributes.integer("q_num_heads"), 3);
    EXPECT_EQ(g.sizes(node.outputs[0]), (Sizes{2, 9, 18}));
  }
}

TEST(AttentionPass, EveryNodeOfTheModelIsAnOrigin) {
  const Graph g = after(recognise_attention, Encoder{}.model());
  EXPECT_THAT(g.nodes[3].origins, ::testing::UnorderedElementsAre("Transpose_qh", "Transpose_kh", "Transpose_vh",
                                                                  "MatMul_product", "Div_scaled", "Add_masked",
                                                                  "Softmax_weights", "MatMul_values", "Transpose_y"));
}

TEST(AttentionPass, ItBecomesOneTask) {
  const Program program = make_program(Encoder{}.model().import(), {});
  ASSERT_EQ(program.tasks.size(), 1U);
  EXPECT_EQ(program.tasks[0].key.text(),
            "attention(batch=2,heads=3,key_heads=3,queries=9,keys=5,depth=4,value_depth=6,scale=0.5,mask=2:1:1:5,"
            "layout=blhd,dtype=f32)");
}

// Nothing moves the heads back, so the operands are read with their heads outside.
TEST(AttentionPass, HeadsOutsideStayOutside) {
  Encoder encoder;
  encoder.moves_back = false;
  const Graph g = after(recognise_attention, encoder.model());
  EXPECT_EQ(operators(g), "Transpose,Transpose,Transpose,Attention");
}

TEST(AttentionPass, ThreeAxesAndScaledOperands) {
  ModelBuilder b;
  b.input("q", {3, 8, 4}).input("k", {3, 5, 4}).input("v", {3, 5, 6}).input("m", {8, 5}).floats("half", {1}, {0.5F});
  b.node("Mul", {"half", "q"}, {"qs"}).node("Mul", {"k", "half"}, {"ks"});
  b.node("Transpose", {"ks"}, {"kt"}, attribute("perm", Order{0, 2, 1}));
  b.node("MatMul", {"qs", "kt"}, {"product"}).node("Add", {"m", "product"}, {"masked"});
  b.node("Softmax", {"masked"}, {"weights"}, attribute("axis", 2)).node("MatMul", {"weights", "v"}, {"y"}).output("y");
  const Graph g = after(recognise_attention, b);
  EXPECT_EQ(operators(g), "Reshape,Reshape,Reshape,Attention,Reshape");
  EXPECT_EQ(g.nodes[3].attributes.number("scale", 0), 0.25);
}

TEST(AttentionPass, WhatIsNoneStays) {
  const auto stays = [](const ModelBuilder& b) {
    return operators(after(recognise_attention, b)).find("Attention") == std::string::npos;
  };
  EXPECT_FALSE(stays(Encoder{}.model()));
  Encoder few;
  few.queries = 7;
  EXPECT_TRUE(stays(few.model()));
  Encoder over_queries;
  over_queries.axis = 2;
  EXPECT_TRUE(stays(over_queries.model()));
  Encoder divided_by_zero;
  divided_by_zero.divisor = 0;
  Graph undefined = testing::prepared(divided_by_zero.model());  // computes NaN, which compares with nothing
  recognise_attention(undefined);
  EXPECT_EQ(operators(undefined).find("Attention"), std::string::npos);
  for (const char* inner : {"product", "scaled", "masked", "weights"}) {
    ModelBuilder read_elsewhere = Encoder{}.model();
    read_elsewhere.node("Relu", {inner}, {"z"}).output("z");
    EXPECT_TRUE(stays(read_elsewhere)) << inner;
  }
  // A mask that makes the scores larger than the product.
  ModelBuilder wide;
  wide.input("q", {1, 8, 4}).input("k", {1, 4, 5}).input("v", {3, 5, 6}).input("m", {3, 8, 5});
  wide.node("MatMul", {"q", "k"}, {"p"}).node("Add", {"p", "m"}, {"s"}).node("Softmax", {"s"}, {"w"});
  wide.node("MatMul", {"w", "v"}, {"y"}).output("y");
  EXPECT_TRUE(stays(wide));
}

}  // namespace
}  // namespace temper::graph
