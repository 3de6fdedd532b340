#include "temper/tune/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "sample_task.h"
#include "temper/ir/oracle.h"
#include "temper/support/error.h"

namespace temper::tune {
namespace {

std::map<std::string, std::string> right_outputs(const ir::Compute& compute, const TaskData& data) {
  ir::Inputs inputs;
  for (const TaskData::Input& input : data.inputs)
    inputs[input.name] = std::as_bytes(std::span(input.bytes.data(), input.bytes.size()));
  ir::Oracle oracle(compute, inputs);
  std::map<std::string, std::string> outputs;
  for (const ir::StagePtr& stage : compute.outputs) {
    for (const double value : oracle.all(*stage)) {
      const auto element = static_cast<float>(value);
      outputs[stage->name].append(reinterpret_cast<const char*>(&element), sizeof element);
    }
  }
  return outputs;
}

void change(std::string& bytes, std::int64_t index, float by) {
  const float value = static_cast<float>(element(bytes, ir::DType::F32, index)) + by;
  std::memcpy(bytes.data() + index * 4, &value, sizeof value);
}

TEST(Reference, RightOutputsBecomeWhatIsExpected) {
  const ir::Compute compute = testing::product(9, 7, 5);
  Reference reference(compute, 16, 1);
  EXPECT_FALSE(reference.established());
  EXPECT_TRUE(reference.data().outputs.front().expected.empty());
  const auto outputs = right_outputs(compute, reference.data());
  EXPECT_EQ(reference.establish(outputs), std::nullopt);
  EXPECT_TRUE(reference.established());
  EXPECT_EQ(reference.data().outputs.front().expected, outputs.at("C"));
  EXPECT_GT(reference.data().outputs.front().absolute_tolerance, 0);
  EXPECT_LT(reference.data().outputs.front().absolute_tolerance, 1e-3);
}

TEST(Reference, EveryCornerIsChecked) {
  const ir::Compute compute = testing::product(9, 7, 5);
  for (const std::int64_t corner : {0, 6, 56, 62}) {
    Reference reference(compute, 16, 1);
    auto outputs = right_outputs(compute, reference.data());
    change(outputs["C"], corner, 0.01F);
    const std::optional<std::string> wrong = reference.establish(outputs);
    ASSERT_TRUE(wrong.has_value()) << corner;
    EXPECT_THAT(*wrong, ::testing::HasSubstr("C[")) << "the place is named";
    EXPECT_FALSE(reference.established());
  }
}

TEST(Reference, FindsElementsBetweenGaps) {
  const ir::Compute compute = ir::with_strides(testing::product(9, 7, 5), {{"A", {8, 1}}, {"C", {20, 2}}});
  Reference reference(compute, 16, 1);
  EXPECT_EQ(reference.data().inputs.front().bytes.size(), (8 * 8 + 5) * sizeof(float));
  EXPECT_EQ(reference.data().outputs.front().bytes, (8 * 20 + 6 * 2 + 1) * 4);
  const std::string dense = right_outputs(compute, reference.data()).at("C");
  std::string bytes(static_cast<std::size_t>(reference.data().outputs.front().bytes), '\xff');
  for (std::size_t i = 0; i < 63; ++i)
    std::memcpy(bytes.data() + (i / 7 * 20 + i % 7 * 2) * 4, dense.data() + i * 4, 4);
  std::string wrong = bytes;
  change(wrong, 8 * 20 + 6 * 2, 0.01F);
  EXPECT_TRUE(reference.establish({{"C", wrong}}).has_value());
  EXPECT_EQ(reference.establish({{"C", bytes}}), std::nullopt);
}

TEST(Reference, RoundingIsAllowedAndNoMore) {
  const ir::Compute compute = testing::product(4, 4, 64);
  Reference reference(compute, 16, 1);
  auto outputs = right_outputs(compute, reference.data());
  change(outputs["C"], 0, 1e-6F);
  EXPECT_EQ(reference.establish(outputs), std::nullopt);
  change(outputs["C"], 0, 1e-3F);
  EXPECT_TRUE(reference.establish(outputs).has_value());
}

TEST(Reference, MissingAndShortOutputsAreWrong) {
  const ir::Compute compute = testing::product(4, 4, 4);
  Reference reference(compute, 16, 1);
  EXPECT_THAT(reference.establish({}).value(), ::testing::HasSubstr("no output C"));
  EXPECT_THAT(reference.establish({{"C", "abcd"}}).value(), ::testing::HasSubstr("4 bytes instead of 64"));
}

TEST(Reference, InputsStayInsideOfTheDomain) {
  const ir::Tensor a = ir::placeholder("A", {64});
  const ir::Compute compute = ir::make_compute(
      {ir::define("R", {64}, [&](ir::Axis i) -> ir::Definition { return ir::sqrt(a(i)) + ir::log(a(i)); })});
  const Reference reference(compute, 16, 1);
  for (std::int64_t i = 0; i < 64; ++i) EXPECT_GT(element(reference.data().inputs.front().bytes, ir::DType::F32, i), 0);
}

TEST(Reference, SeedsGiveInputsThatDifferFromTensorToTensor) {
  const ir::Compute compute = testing::product(8, 8, 8);
  const Reference one(compute, 16, 1), same(compute, 16, 1), other(compute, 16, 2);
  EXPECT_EQ(one.data().inputs[0].bytes, same.data().inputs[0].bytes);
  EXPECT_NE(one.data().inputs[0].bytes, other.data().inputs[0].bytes);
  EXPECT_NE(one.data().inputs[0].bytes, one.data().inputs[1].bytes);
}

}  // namespace
}  // namespace temper::tune
