#include "temper/peers/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temper/peers/message.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

using ::testing::HasSubstr;

PeerWork conv(std::map<std::string, std::int64_t> fields) {
  fields.merge(std::map<std::string, std::int64_t>{{"ic", 4}, {"h", 8}, {"w", 8}, {"oc", 6}, {"kh", 3}, {"kw", 3}});
  return {"conv2d", std::move(fields), Layout::Nchw, {}, true, {}, {}};
}

std::string error_of(const PeerWork& work) {
  try {
    input_specs(work);
    output_spec(work);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    return error.what();
  }
  return "no error";
}

TEST(Work, DefaultsAndSidesOfAConvolution) {
  const ConvShape plain = conv_shape(conv({}));
  EXPECT_EQ(plain.n, 1);
  EXPECT_EQ(plain.stride_h, 1);
  EXPECT_EQ(plain.pad_right, 0);
  EXPECT_EQ(plain.out_h(), 6);
  const ConvShape sides =
      conv_shape(conv({{"pad", 1}, {"pad_top", 2}, {"stride", 2}, {"stride_w", 3}, {"dilation_w", 2}}));
  EXPECT_EQ(sides.pad_top, 2);
  EXPECT_EQ(sides.pad_bottom, 1);
  EXPECT_EQ(sides.stride_h, 2);
  EXPECT_EQ(sides.stride_w, 3);
  EXPECT_EQ(sides.out_h(), 5);
  EXPECT_EQ(sides.out_w(), 2);
}

TEST(Work, ShapesOfATransposedConvolution) {
  PeerWork work = conv({{"stride", 2}, {"pad_top", 1}, {"output_padding_w", 1}, {"groups", 2}});
  work.op = "conv_transpose2d";
  EXPECT_EQ(conv_shape(work).out_h(), 16);
  EXPECT_EQ(conv_shape(work).out_w(), 18);
  EXPECT_EQ(input_specs(work)[1].dims, (std::vector<std::int64_t>{4, 3, 3, 3}));
  work.fields["dilation"] = 2;
  EXPECT_THAT(error_of(work), HasSubstr("Unknown field 'dilation'"));
}

TEST(Work, InputsFollowTheEpilogue) {
  PeerWork work = conv({{"groups", 2}});
  work.epilogue = {"bias", "relu", "add"};
  const std::vector<TensorSpec> specs = input_specs(work);
  ASSERT_EQ(specs.size(), 4U);
  EXPECT_EQ(specs[1].dims, (std::vector<std::int64_t>{6, 2, 3, 3}));
  EXPECT_TRUE(specs[1].constant);
  EXPECT_EQ(specs[2].dims, (std::vector<std::int64_t>{6}));
  EXPECT_EQ(specs[3].dims, (std::vector<std::int64_t>{1, 6, 6, 6}));
  EXPECT_FALSE(specs[3].constant);
  work.layout = Layout::Nhwc;
  EXPECT_EQ(input_specs(work)[0].dims, (std::vector<std::int64_t>{1, 8, 8, 4}));
  work.constant_weights = false;
  EXPECT_FALSE(input_specs(work)[1].constant);
}

TEST(Work, MalformedWorkIsRefusedWithTheReason) {
  EXPECT_THAT(error_of({"pool", {}, Layout::Nchw, {}, true, {}, {}}), HasSubstr("one of: matmul, conv2d"));
  EXPECT_THAT(error_of({"matmul", {{"m", 1}, {"n", 1}}, Layout::Nchw, {}, true, {}, {}}), HasSubstr("'k' is missing"));
  EXPECT_THAT(error_of({"matmul", {{"m", 1}, {"n", 1}, {"k", 1}, {"trans_b", 2}}, Layout::Nchw, {}, true, {}, {}}),
              HasSubstr("0 or 1"));
  EXPECT_THAT(error_of(conv({{"strid", 1}})), HasSubstr("Unknown field 'strid'"));
  EXPECT_THAT(error_of(conv({{"stride", 0}})), HasSubstr("is 0"));
  EXPECT_THAT(error_of(conv({{"pad", -1}})), HasSubstr("'pad' is -1"));
  EXPECT_THAT(error_of(conv({{"h", std::int64_t{1} << 31}})), HasSubstr("below 2^31"));
  EXPECT_THAT(error_of(conv({{"groups", 3}})), HasSubstr("groups do not divide"));
  EXPECT_THAT(error_of(conv({{"dilation", 4}})), HasSubstr("larger than the padded input"));
  PeerWork work = conv({});
  work.epilogue = {"relu", "bias"};
  EXPECT_THAT(error_of(work), HasSubstr("bias comes first"));
  work.epilogue = {"swish"};
  EXPECT_THAT(error_of(work), HasSubstr("Unknown epilogue step 'swish'"));
  EXPECT_THAT(error_of({"softmax", {{"rows", 1}, {"cols", 1}}, Layout::Nchw, {"bias"}, true, {}, {}}),
              HasSubstr("no bias"));
}

TEST(Work, InputsThatDoNotFitAreRefused) {
  const PeerWork work{"matmul", {{"m", 1}, {"n", 2}, {"k", 1}}, Layout::Nchw, {}, true, {}, {}};
  const std::array<float, 2> two{1, 2};
  const std::span<const float> one(two.data(), 1);
  const Tensor a = Tensor::f32("a", {1, 1}, one), b = Tensor::f32("b", {1, 2}, two);
  EXPECT_NO_THROW(check_inputs(work, std::vector{a, b}));
  EXPECT_THROW(check_inputs(work, std::vector{a}), Error);
  EXPECT_THROW(check_inputs(work, std::vector{b, a}), Error);
  EXPECT_THROW(check_inputs(work, std::vector{a, Tensor::f32("b", {1, 2}, one)}), Error);
  Tensor integers = b;
  integers.dtype = "i32";
  EXPECT_THROW(check_inputs(work, std::vector{a, integers}), Error);
  EXPECT_THROW(integers.as_f32(), Error);
}

TEST(Work, CrossesTheProcessBoundary) {
  PeerWork work = conv({{"stride", 2}});
  work.layout = Layout::Nhwc;
  work.epilogue = {"bias", "tanh"};
  work.constant_weights = false;
  const PeerWork back = work_from_json(nlohmann::json::parse(to_json(work).dump()));
  EXPECT_EQ(back.op, work.op);
  EXPECT_EQ(back.fields, work.fields);
  EXPECT_EQ(back.layout, work.layout);
  EXPECT_EQ(back.epilogue, work.epilogue);
  EXPECT_EQ(back.constant_weights, work.constant_weights);
  EXPECT_THROW(work_from_json({{"op", 3}}), Error);
}

}  // namespace
}  // namespace temper::peers
