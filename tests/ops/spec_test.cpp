// SPEC strings, workloads, the registry, folding and the metrics.
#include "temper/ops/spec.h"

#include <gmock/gmock.h>

#include <limits>

#include "ops/harness.h"

namespace temper::ops::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> stage_names(const ir::Compute& compute) {
  std::vector<std::string> names;
  for (const ir::StagePtr& stage : compute.stages) names.push_back(stage->name);
  return names;
}

TEST(Spec, MatmulWithDefaults) {
  const Workload w = parse_spec("matmul(m=512,n=256,k=128)");
  EXPECT_EQ(w.text(), "matmul(batch=1,m=512,n=256,k=128,trans_a=0,trans_b=0,dtype=f32,epilogue=none,const=weights)");
  EXPECT_THAT(stage_names(w.compute), ElementsAre("A", "B", "matmul"));
  EXPECT_TRUE(w.compute.stage("B")->constant);
  EXPECT_FALSE(w.compute.stage("A")->constant);
  EXPECT_EQ(w.compute.stage("matmul")->shape(), (Shape{512, 256}));
  EXPECT_DOUBLE_EQ(w.flops, 2.0 * 512 * 256 * 128);
  EXPECT_DOUBLE_EQ(w.tolerance, 16 + 4 * std::sqrt(128.0));
}

TEST(Spec, TextIsCanonical) {
  const std::string canonical =
      parse_spec(" conv2d( ic=8 , h=6,w=7,oc=4,kh=3,kw=3,pad=1,epilogue=bias+clip:0:6 ) ").text();
  EXPECT_EQ(canonical,
            "conv2d(n=1,ic=8,h=6,w=7,oc=4,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=nchw,dtype=f32,epilogue="
            "bias+clip,const=weights)");
  EXPECT_EQ(parse_spec(canonical).text(), canonical);
  EXPECT_EQ(parse_spec("conv2d(kw=3,kh=3,oc=4,w=7,h=6,ic=8,pad=1:1,stride=1:1,epilogue=bias+clip)").text(), canonical);
  const std::string uneven =
      "conv2d(n=2,ic=8,h=6,w=7,oc=4,kh=3,kw=3,stride=2:1,pad=0:1:2:1,dilation=1:2,groups=4,layout=nhwc,dtype=f64,"
      "epilogue=none,const=none)";
  EXPECT_EQ(parse_spec(uneven).text(), uneven);
  EXPECT_EQ(parse_spec(parse_spec("softmax(rows=3,cols=4)").text()).text(), "softmax(rows=3,cols=4,dtype=f32)");
  EXPECT_EQ(parse_spec(parse_spec("layernorm(rows=3,cols=4)").text()).text(),
            "layernorm(rows=3,cols=4,epsilon=1e-05,dtype=f32,const=weights)");
}

TEST(Spec, ConvolutionStages) {
  const Workload w =
      parse_spec("conv2d(ic=8,h=6,w=6,oc=8,kh=3,kw=3,pad=1,groups=8,layout=nhwc,epilogue=bias+relu+add)");
  EXPECT_THAT(stage_names(w.compute), ElementsAre("in", "weight", "bias", "add", "conv", "out"));
  EXPECT_EQ(w.compute.stage("in")->shape(), (Shape{1, 6, 6, 8}));
  EXPECT_EQ(w.compute.stage("weight")->shape(), (Shape{8, 1, 3, 3}));
  EXPECT_EQ(w.compute.stage("conv")->reduce_axes.size(), 2U) << "depthwise has no reduction over channels";
  EXPECT_DOUBLE_EQ(w.flops, 6.0 * 6 * 8 * (2 * 9 + 3));
  EXPECT_FALSE(parse_spec("conv2d(ic=8,h=6,w=6,oc=8,kh=3,kw=3,const=none)").compute.stage("weight")->constant);
}

TEST(Spec, BatchesAndTransposes) {
  const Workload w = parse_spec("matmul(batch=3,m=4,n=5,k=6,trans_a=1,trans_b=1)");
  EXPECT_EQ(w.compute.stage("A")->shape(), (Shape{3, 6, 4}));
  EXPECT_EQ(w.compute.stage("B")->shape(), (Shape{3, 5, 6}));
  EXPECT_EQ(w.compute.stage("matmul")->shape(), (Shape{3, 4, 5}));
}

TEST(Spec, SoftmaxAndLayerNormCompute) {
  const Workload softmax = parse_spec("softmax(rows=2,cols=3)");
  EXPECT_THAT(stage_names(softmax.compute), ElementsAre("in", "out_max", "out_exp", "out_sum", "out_scale", "out"));
  const TensorValue in = TensorValue::from_numbers({ir::DType::F32, {2, 3}}, {1, 2, 3, 4, 4, 4});
  const auto values = ir::Oracle(softmax.compute, {{"in", *in.bytes}}).all(*softmax.compute.outputs[0]);
  EXPECT_NEAR(values[0] + values[1] + values[2], 1, 1e-12);
  EXPECT_NEAR(values[3], 1.0 / 3, 1e-7);
  const Workload norm = parse_spec("layernorm(rows=128,cols=768)");
  ASSERT_EQ(norm.alternatives.size(), 1U);
  EXPECT_EQ(norm.alternatives[0].algorithm, "one_pass");
  EXPECT_EQ(norm.alternatives[0].compute.stage("out_moments")->dtypes.size(), 2U);
}

TEST(Spec, AttentionFillsInWhatFollowsFromTheSizes) {
  EXPECT_EQ(parse_spec("attention(heads=2,queries=3,keys=5,depth=16)").text(),
            "attention(batch=1,heads=2,key_heads=2,queries=3,keys=5,depth=16,value_depth=16,scale=0.25,mask=none,"
            "layout=bhld,dtype=f32)");
  const Workload w = parse_spec(
      "attention(batch=2,heads=4,key_heads=2,queries=3,keys=5,depth=8,value_depth=6,scale=0.5,mask=2:1:3:5,layout="
      "blhd)");
  EXPECT_EQ(w.compute.stage("Q")->shape(), (Shape{2, 3, 4, 8}));
  EXPECT_EQ(w.compute.stage("K")->shape(), (Shape{2, 5, 2, 8}));
  EXPECT_EQ(w.compute.stage("V")->shape(), (Shape{2, 5, 2, 6}));
  EXPECT_EQ(w.compute.stage("mask")->shape(), (Shape{2, 1, 3, 5}));
  EXPECT_EQ(w.compute.outputs[0]->shape(), (Shape{2, 3, 4, 6}));
  EXPECT_THAT(w.text(), HasSubstr("scale=0.5,mask=2:1:3:5,layout=blhd"));
}

// Models scale by any number, and keys are read back.
TEST(Spec, EveryScaleOfAttentionIsRead) {
  for (const double scale : {-0.3, 0.0, 1e-20, 0.125}) {
    AttentionShape shape;
    shape.queries = shape.keys = shape.depth = 4;
    shape.scale = scale;
    const Workload made = attention_workload(shape), read = parse_spec(made.text());
    EXPECT_EQ(read.text(), made.text());
    EXPECT_EQ(ir::structural_hash(read.compute), ir::structural_hash(made.compute)) << scale;
  }
}

std::string spec_error(std::string_view spec) {
  try {
    parse_spec(spec);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "parsed";
}

TEST(Spec, ErrorsNameTheWordAndWhatWasExpected) {
  EXPECT_EQ(spec_error("matmull(m=1,n=1,k=1)"),
            "'matmull' is not a known operator\n  at: SPEC 'matmull(m=1,n=1,k=1)'\n  hint: expected one of matmul, "
            "conv2d, conv1d, conv_transpose2d, softmax, layernorm, attention");
  EXPECT_THAT(spec_error("attention(heads=2,queries=3,keys=5,depth=16,scale=inf)"),
              HasSubstr("cannot read 'inf' as scale"));
  EXPECT_THAT(spec_error("layernorm(rows=2,cols=3,epsilon=-1)"), HasSubstr("a finite number that is not negative"));
  EXPECT_EQ(spec_error("matmul(m=512,n=512)"),
            "'k' (columns of A) is missing\n  at: SPEC 'matmul(m=512,n=512)'\n  hint: write matmul(m=N,n=N,k=N)");
  EXPECT_EQ(spec_error("matmul(m=512,n=512,k=abc)"),
            "cannot read 'abc' as k\n  at: SPEC 'matmul(m=512,n=512,k=abc)'\n  hint: expected a whole number");
  EXPECT_THAT(spec_error("matmul(m=0,n=512,k=1)"), HasSubstr("cannot read '0' as m"));
  EXPECT_THAT(spec_error("matmul(m=-4,n=512,k=1)"), HasSubstr("expected a positive whole number"));
  EXPECT_THAT(spec_error("matmul(m=99999999999,n=512,k=1)"), HasSubstr("expected at most 2147483648"));
  EXPECT_THAT(spec_error("matmul(m=99999999999999999999,n=512,k=1)"),
              HasSubstr("cannot read '99999999999999999999' as m"));
  EXPECT_THAT(spec_error("matmul(m=2000000000,n=2000000000,k=2000000000)"), HasSubstr("more than 2^40"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1,q=3)"), HasSubstr("'q' is not a field of matmul"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1,q=3)"), HasSubstr("expected one of batch, m, n, k, trans_a"));
  EXPECT_THAT(spec_error("matmul(m=1,m=1,n=1,k=1)"), HasSubstr("'m' is given twice"));
  EXPECT_THAT(spec_error("matmul(m=1,n,k=1)"), HasSubstr("cannot read 'n'"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1,)"), HasSubstr("a field is missing behind the last ','"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1"), HasSubstr("the closing ')' is missing"));
  EXPECT_THAT(spec_error("matmul"), HasSubstr("'(' is missing behind 'matmul'"));
  EXPECT_THAT(spec_error(""), HasSubstr("'' is not a known operator"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1,dtype=f16)"), HasSubstr("cannot read 'f16' as dtype"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1,epilogue=bias+rely)"),
              HasSubstr("epilogue=bias+rely: unknown epilogue item 'rely'"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1,trans_a=yes)"), HasSubstr("expected 0 or 1"));
  EXPECT_THAT(spec_error("matmul(m=1,n=1,k=1,const=all)"), HasSubstr("expected weights or none"));
  const std::string attention = "attention(heads=4,queries=2,keys=3,depth=5";
  EXPECT_THAT(spec_error(attention + ",key_heads=3)"), HasSubstr("4 query heads cannot share 3 key heads"));
  EXPECT_THAT(spec_error(attention + ",mask=1:1:2:4)"), HasSubstr("the mask does not fit the scores"));
  EXPECT_THAT(spec_error(attention + ",mask=2:3)"), HasSubstr("four sizes, each 1 or that of batch, heads"));
  EXPECT_THAT(spec_error(attention + ",layout=nchw)"), HasSubstr("expected bhld or blhd"));
  const std::string conv = "conv2d(ic=6,h=5,w=5,oc=6,kh=3,kw=3";
  EXPECT_THAT(spec_error(conv + ",groups=4)"), HasSubstr("ic=6 is not a multiple of groups=4"));
  EXPECT_THAT(spec_error(conv + ",layout=nchw5c)"), HasSubstr("expected nchw, nhwc, nchw8c or nchw16c"));
  EXPECT_THAT(spec_error(conv + ",pad=1:2:3)"), HasSubstr("expected one number, y:x or top:left:bottom:right"));
  EXPECT_THAT(spec_error(conv + ",stride=0)"), HasSubstr("expected numbers of at least 1"));
  EXPECT_THAT(spec_error(conv + ",dilation=3)"), HasSubstr("the kernel spans 7 but the padded input has 5"));
}

TEST(Spec, RandomTextIsRefusedCleanly) {
  RandomStream random(1);
  const std::string letters = "matmulconv2dsoftmax(m=1,n=2,k=3)=:+-,.x0 ";
  for (int trial = 0; trial < 5000; ++trial) {
    std::string text =
        trial % 2 == 0 ? "matmul(m=4,n=4,k=4,epilogue=bias+relu)" : "conv2d(ic=2,h=4,w=4,oc=2,kh=3,kw=3,pad=1)";
    const auto edits = random.uniform_int(1, 4);
    for (std::int64_t e = 0; e < edits; ++e) {
      const auto at = static_cast<std::size_t>(random.below(text.size()));
      const char letter = letters[static_cast<std::size_t>(random.below(letters.size()))];
      if (random.chance(0.4)) {
        text.erase(at, 1);
      } else if (random.chance(0.5)) {
        text.insert(at, 1, letter);
      } else {
        text[at] = letter;
      }
      if (text.empty()) text = "x";
    }
    spec_error(text);  // any other exception fails the test
  }
}

TEST(Registry, SortedAndFound) {
  const auto table = operators();
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].name, table[i].name);
  ASSERT_NE(find_operator("Conv"), nullptr);
  EXPECT_EQ(find_operator("Conv")->kind, OperatorClass::Contraction);
  EXPECT_EQ(find_operator("Relu")->kind, OperatorClass::Elementwise);
  EXPECT_EQ(find_operator("conv"), nullptr);
}

TEST(Registry, InferGivesTypes) {
  Built built({"Conv",
               {unknown(random_array({1, 3, 9, 9}, 1)), known(random_array({8, 3, 3, 3}, 1))},
               attributes({{"strides", list({2, 2})}})});
  EXPECT_THAT(infer(built.node()), ElementsAre(TensorType{ir::DType::F32, {1, 8, 4, 4}}));
  Built equal({"Equal", {unknown(random_array({2, 1}, 1)), unknown(random_array({3}, 1))}});
  EXPECT_THAT(infer(equal.node()), ElementsAre(TensorType{ir::DType::Bool, {2, 3}}));
}

TEST(Registry, ChainsShareOneCompute) {
  // An operator reads the output of another: that is fusion.
  Attributes none;
  const ir::Tensor in = ir::placeholder("in", {1, 2, 5, 5}), weight = ir::constant("w", {4, 2, 3, 3}),
                   other = ir::placeholder("r", {1, 4, 3, 3});
  Node conv{.op = "Conv", .attributes = &none, .inputs = {{in, nullptr}, {weight, nullptr}}, .name = "conv"};
  Node add{.op = "Add", .attributes = &none, .inputs = {{build(conv)[0], nullptr}, {other, nullptr}}, .name = "sum"};
  Node relu{.op = "Relu", .attributes = &none, .inputs = {{build(add)[0], nullptr}}, .name = "out"};
  const ir::Compute compute = ir::make_compute({build(relu)[0]});
  ir::verify(compute);
  EXPECT_THAT(stage_names(compute), ElementsAre("in", "w", "r", "conv", "sum", "out"));
}

std::vector<TensorValue> fold_case(const Case& c) {
  Built built(c);
  return fold(built.node());
}

TEST(Fold, ImportOperators) {
  EXPECT_THAT(fold_case({"Shape", {unknown(random_array({2, 3, 4}, 1))}})[0].integers(), ElementsAre(2, 3, 4));
  EXPECT_THAT(
      fold_case({"Shape", {unknown(random_array({2, 3, 4}, 1))}, attributes({{"start", i64(-2)}, {"end", i64(5)}})})[0]
          .integers(),
      ElementsAre(3, 4));
  EXPECT_THAT(fold_case({"Size", {unknown(random_array({2, 3, 4}, 1))}})[0].integers(), ElementsAre(24));
  EXPECT_THAT(fold_case({"Range", {known(integers({}, {2})), known(integers({}, {9})), known(integers({}, {3}))}})[0]
                  .integers(),
              ElementsAre(2, 5, 8));
  EXPECT_THAT(fold_case({"Range", {known(integers({}, {3})), known(integers({}, {0})), known(integers({}, {-1}))}})[0]
                  .integers(),
              ElementsAre(3, 2, 1));
  const TensorValue seven = TensorValue::from_integers({ir::DType::I64, {1}}, {7});
  const auto filled = fold_case({"ConstantOfShape", {known(vector_of({2, 2}))}, attributes({{"value", seven}})})[0];
  EXPECT_EQ(filled.type, (TensorType{ir::DType::I64, {2, 2}}));
  EXPECT_THAT(filled.integers(), ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(fold_case({"ConstantOfShape", {known(vector_of({2}))}})[0].numbers(), ElementsAre(0, 0));
  EXPECT_THAT(fold_case({"Constant", {}, attributes({{"value_ints", list({4, 5})}})})[0].integers(), ElementsAre(4, 5));
  EXPECT_TRUE(always_folds("Shape"));
  EXPECT_FALSE(always_folds("Conv"));
}

TEST(Fold, EvaluatesDefinitionsExactly) {
  const std::int64_t big = 9007199254740993;  // not a double
  Built concat({"Concat", {known(vector_of({1})), known(vector_of({2}))}, attributes({{"axis", i64(0)}})});
  const TensorValue exact = TensorValue::from_integers({ir::DType::I64, {1}}, {big});
  concat.node().inputs[1].value = &exact;
  EXPECT_THAT(fold(concat.node())[0].integers(), ElementsAre(1, big));
  const auto parts = fold_case({"Split",
                                {known(vector_of({1, 2, 3}))},
                                attributes({{"axis", i64(0)}, {"num_outputs", i64(2)}}),
                                18,
                                Layout::Nchw,
                                2});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_THAT(parts[0].integers(), ElementsAre(1, 2));
  EXPECT_THAT(parts[1].integers(), ElementsAre(3));
  const auto condition = fold_case({"Equal", {known(vector_of({1, 2})), known(vector_of({1, 3}))}})[0];
  EXPECT_EQ(condition.type.dtype, ir::DType::Bool);
  EXPECT_THAT(condition.integers(), ElementsAre(1, 0));
  EXPECT_THROW(fold_case({"Relu", {unknown(random_array({2}, 1))}}), Error);
}

TEST(Attributes, TypesDefaultsAndCanonicalText) {
  const Attributes a =
      attributes({{"axis", i64(1)}, {"alpha", 0.1}, {"pads", list({1, 2})}, {"mode", std::string("linear")}});
  EXPECT_EQ(a.canonical(), "alpha=0.1,axis=1,mode=linear,pads=[1;2]");
  EXPECT_EQ(a.integer("axis"), 1);
  EXPECT_EQ(a.integer("absent", 5), 5);
  EXPECT_EQ(a.number("axis", 0), 1);
  const auto message = [](auto&& get) -> std::string {
    try {
      get();
    } catch (const Error& error) {
      return error.message();
    }
    return "got";
  };
  EXPECT_EQ(message([&] { a.integer("mode"); }), "attribute 'mode' must be an integer, not a text");
  EXPECT_EQ(message([&] { a.integers("strides"); }), "attribute 'strides' is missing");
}

TEST(Spec, ConvolutionInBlocksOfChannels) {
  // The plain convolution, with both sides and the filters cut into blocks.
  const Workload blocked =
      parse_spec("conv2d(ic=16,h=5,w=6,oc=24,kh=3,kw=2,stride=1:2,pad=1,layout=nchw8c,epilogue=relu)");
  const Workload plain = parse_spec("conv2d(ic=16,h=5,w=6,oc=24,kh=3,kw=2,stride=1:2,pad=1,epilogue=relu)");
  EXPECT_THAT(blocked.text(), ::testing::HasSubstr("layout=nchw8c"));
  std::vector<float> in(16 * 5 * 6), weight(24 * 16 * 3 * 2), in_blocked(in.size()), weight_blocked(weight.size());
  RandomStream random(1);
  for (float& x : in) x = static_cast<float>(random.uniform_real(-1, 1));
  for (float& x : weight) x = static_cast<float>(random.uniform_real(-1, 1));
  for (std::size_t c = 0; c < 16; ++c) {
    for (std::size_t p = 0; p < 30; ++p) in_blocked[(c / 8 * 30 + p) * 8 + c % 8] = in[c * 30 + p];
  }
  for (std::size_t o = 0; o < 24; ++o) {
    for (std::size_t c = 0; c < 16; ++c) {
      for (std::size_t k = 0; k < 6; ++k)
        weight_blocked[(((o / 8 * 2 + c / 8) * 6 + k) * 8 + c % 8) * 8 + o % 8] = weight[(o * 16 + c) * 6 + k];
    }
  }
  const auto all = [](const Workload& work, const std::vector<float>& a, const std::vector<float>& b) {
    ir::Oracle oracle(work.compute, {{"in", std::as_bytes(std::span(a))}, {"weight", std::as_bytes(std::span(b))}});
    return oracle.all(*work.compute.outputs[0]);
  };
  const std::vector<double> wanted = all(plain, in, weight), got = all(blocked, in_blocked, weight_blocked);
  ASSERT_EQ(got.size(), wanted.size());
  const std::size_t pixels = wanted.size() / 24;
  for (std::size_t o = 0; o < 24; ++o) {
    for (std::size_t p = 0; p < pixels; ++p)
      EXPECT_NEAR(got[(o / 8 * pixels + p) * 8 + o % 8], wanted[o * pixels + p], 1e-6);
  }
  const auto error = [](const char* spec) {
    try {
      parse_spec(spec);
      return std::string("parsed");
    } catch (const Error& e) {
      return e.message();
    }
  };
  EXPECT_EQ(error("conv2d(ic=12,h=5,w=5,oc=16,kh=3,kw=3,layout=nchw8c)"),
            "ic=12 and oc=16 are not both whole blocks of 8 channels");
  EXPECT_EQ(error("conv2d(ic=16,h=5,w=5,oc=16,kh=3,kw=3,groups=16,layout=nchw16c)"), "parsed")
      << "a group for each channel";
  EXPECT_EQ(error("conv2d(ic=32,h=5,w=5,oc=16,kh=3,kw=3,groups=2,layout=nchw8c)"), "parsed") << "whole blocks";
  EXPECT_EQ(error("conv2d(ic=16,h=5,w=5,oc=16,kh=3,kw=3,groups=4,layout=nchw16c)"),
            "blocks of 16 channels need one group, groups of whole blocks, or a group for each channel; not groups=4");
  const Workload biased =
      parse_spec("conv2d(ic=16,h=5,w=5,oc=32,kh=3,kw=3,layout=nchw16c,epilogue=bias+imagemul+add+upadd:3:3)");
  EXPECT_EQ(biased.compute.stage("bias")->shape(), (Shape{2, 16}));
  EXPECT_EQ(biased.compute.stage("imagemul")->shape(), (Shape{1, 2, 16}));
  EXPECT_EQ(biased.compute.stage("add")->shape(), (Shape{1, 2, 3, 3, 16}));
  EXPECT_EQ(biased.compute.stage("upadd")->shape(), (Shape{1, 2, 1, 1, 16}));
}

TEST(Spec, AConvolutionOverOneAxisIsOneOverTwoWithOneRow) {
  EXPECT_EQ(
      parse_spec("conv1d(n=2,ic=8,w=20,oc=4,kw=3,stride=2,pad=1:0,dilation=3,groups=2,epilogue=relu)").text(),
      parse_spec("conv2d(n=2,ic=8,h=1,w=20,oc=4,kh=1,kw=3,stride=1:2,pad=0:1:0:0,dilation=1:3,groups=2,epilogue=relu)")
          .text());
  EXPECT_EQ(parse_spec("conv1d(ic=8,w=20,oc=4,kw=3,layout=nhwc)").compute.stage("in")->shape(), (Shape{1, 1, 20, 8}));
  EXPECT_THAT(spec_error("conv1d(ic=8,w=20,oc=4,kw=3,pad=1:2:3)"), HasSubstr("expected one number or left:right"));
  EXPECT_THAT(spec_error("conv1d(ic=8,w=20,oc=4,kw=3,layout=nchw8c)"), HasSubstr("expected nchw or nhwc"));
}

TEST(Spec, TransposedConvolutionScattersEveryInput) {
  struct Axis {
    std::int64_t input, kernel, stride, begin, end, extra, output;
  };
  // Kernels that the stride divides, and not; shorter than the stride; padding beyond the first period.
  const std::vector<std::pair<Axis, Axis>> cases{{{3, 4, 2, 1, 1, 0, 6}, {4, 4, 2, 1, 1, 0, 8}},
                                                 {{3, 3, 2, 0, 1, 1, 7}, {4, 5, 3, 4, 2, 2, 10}},
                                                 {{5, 1, 3, 0, 0, 2, 15}, {2, 3, 1, 1, 1, 0, 2}}};
  const std::int64_t ic = 4, oc = 6, groups = 2;
  for (const auto& [y, x] : cases) {
    const auto pair = [](std::int64_t a, std::int64_t b) { return std::to_string(a) + ":" + std::to_string(b); };
    const std::string spec = "conv_transpose2d(n=1,ic=4,h=" + std::to_string(y.input) +
                             ",w=" + std::to_string(x.input) + ",oc=6,kh=" + std::to_string(y.kernel) +
                             ",kw=" + std::to_string(x.kernel) + ",stride=" + pair(y.stride, x.stride) +
                             ",pad=" + pair(y.begin, x.begin) + ":" + pair(y.end, x.end) +
                             ",output_padding=" + pair(y.extra, x.extra) + ",groups=2)";
    SCOPED_TRACE(spec);
    const Workload work = parse_spec(spec);
    EXPECT_EQ(parse_spec(work.text()).text(), work.text());
    ASSERT_EQ(work.compute.outputs[0]->shape(), (Shape{1, oc, y.output, x.output}));
    std::vector<float> in(static_cast<std::size_t>(ic * y.input * x.input)),
        weight(static_cast<std::size_t>(ic * oc / groups * y.kernel * x.kernel));
    RandomStream random(5);
    for (float& value : in) value = static_cast<float>(random.uniform_real(-1, 1));
    for (float& value : weight) value = static_cast<float>(random.uniform_real(-1, 1));
    std::vector<double> wanted(static_cast<std::size_t>(oc * y.output * x.output));
    for (std::int64_t i = 0; i < ic; ++i) {
      for (std::int64_t o = 0; o < oc / groups; ++o) {
        for (std::int64_t row = 0; row < y.input; ++row) {
          for (std::int64_t column = 0; column < x.input; ++column) {
            for (std::int64_t kh = 0; kh < y.kernel; ++kh) {
              for (std::int64_t kw = 0; kw < x.kernel; ++kw) {
                const std::int64_t to_y = row * y.stride + kh - y.begin, to_x = column * x.stride + kw - x.begin;
                if (to_y < 0 || to_y >= y.output || to_x < 0 || to_x >= x.output) continue;
                const std::int64_t filter = i / (ic / groups) * (oc / groups) + o;
                wanted[static_cast<std::size_t>((filter * y.output + to_y) * x.output + to_x)] +=
                    double{in[static_cast<std::size_t>((i * y.input + row) * x.input + column)]} *
                    weight[static_cast<std::size_t>(((i * (oc / groups) + o) * y.kernel + kh) * x.kernel + kw)];
              }
            }
          }
        }
      }
    }
    ir::Oracle oracle(work.compute,
                      {{"in", std::as_bytes(std::span(in))}, {"weight", std::as_bytes(std::span(weight))}});
    const std::vector<double> got = oracle.all(*work.compute.outputs[0]);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-5) << i;
  }
}

TEST(Spec, TransposedConvolutionsThatDoNotFitAreRefused) {
  const std::string start = "conv_transpose2d(ic=4,h=3,w=3,oc=6,kh=3,kw=3,";
  EXPECT_THAT(spec_error(start + "groups=4)"), HasSubstr("are not both multiples of groups=4"));
  EXPECT_THAT(spec_error(start + "pad=4)"), HasSubstr("the padding leaves no output"));
  EXPECT_THAT(spec_error(start + "stride=2,output_padding=2)"),
              HasSubstr("output_padding must be less than the stride"));
  EXPECT_THAT(spec_error(start + "layout=nchw8c)"), HasSubstr("expected nchw or nhwc"));
}

// A pointwise convolution knows nothing of rows: its definition has one row of all pixels, the task keeps their number.
TEST(Spec, PointwiseConvolutionsOverChannelsFirstHaveOneRow) {
  const auto input = [](const std::string& fields) {
    const Workload workload = parse_spec("conv2d(ic=4,h=6,w=9,oc=3," + fields + ")");
    EXPECT_THAT(workload.text(), HasSubstr("h=6,w=9"));
    return workload.compute.stages.front()->shape();
  };
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(input("kh=1,kw=1,layout=nchw"), (Shape{1, 4, 1, 54}));
  EXPECT_EQ(input("kh=1,kw=1,layout=nchw,epilogue=bias+relu+add"), (Shape{1, 4, 1, 54}));
  EXPECT_EQ(input("kh=1,kw=1,layout=nchw,epilogue=upadd:2:3"), (Shape{1, 4, 6, 9})) << "one operand has rows";
  EXPECT_EQ(input("kh=1,kw=1,layout=nchw,stride=2"), (Shape{1, 4, 6, 9}));
  EXPECT_EQ(input("kh=1,kw=3,pad=0:1,layout=nchw"), (Shape{1, 4, 6, 9}));
  EXPECT_EQ(input("kh=1,kw=1,layout=nhwc"), (Shape{1, 6, 9, 4}));
}

}  // namespace
}  // namespace temper::ops::testing
