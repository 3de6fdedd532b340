#include "temper/app/inference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "temper/support/error.h"

namespace temper::app {
namespace {

using ::testing::HasSubstr;

/// A plan without steps: its outputs are its two inputs.
std::shared_ptr<const runtime::Plan> copies() {
  auto plan = std::make_shared<runtime::Plan>();
  for (const char* name : {"a", "b"}) {
    runtime::PlanTensor tensor;
    tensor.name = name;
    tensor.shape = {4};
    tensor.bytes = 16;
    tensor.kind = runtime::TensorKind::Input;
    plan->inputs.push_back(static_cast<std::int32_t>(plan->tensors.size()));
    plan->tensors.push_back(tensor);
  }
  for (std::int32_t input = 0; input < 2; ++input) {
    runtime::PlanTensor tensor = plan->tensors[static_cast<std::size_t>(input)];
    tensor.name = "out" + std::to_string(input);
    tensor.kind = runtime::TensorKind::Output;
    tensor.view_of = input;
    tensor.view_offset = 0;
    plan->outputs.push_back(static_cast<std::int32_t>(plan->tensors.size()));
    plan->tensors.push_back(tensor);
  }
  return plan;
}

std::vector<peers::Tensor> reference(const Inference& inference) {
  std::vector<peers::Tensor> out;
  for (std::size_t i = 0; i < inference.plan().outputs.size(); ++i) {
    const runtime::PlanTensor& tensor = inference.plan().tensors[static_cast<std::size_t>(inference.plan().outputs[i])];
    std::vector<float> values(tensor.shape[0] > 0 ? static_cast<std::size_t>(tensor.shape[0]) : 0);
    std::memcpy(values.data(), inference.output(i).data(), inference.output(i).size());
    out.push_back(peers::Tensor::f32(tensor.name, tensor.shape, values));
  }
  return out;
}

TEST(Inference, TheSameSeedGivesTheSameInputs) {
  Inference one(copies(), 1), two(copies(), 1);
  one.fill_random(7);
  two.fill_random(7);
  EXPECT_TRUE(std::ranges::equal(one.input(0), two.input(0)));
  EXPECT_FALSE(std::ranges::equal(one.input(0), one.input(1)));
  two.fill_random(8);
  EXPECT_FALSE(std::ranges::equal(one.input(0), two.input(0)));
}

TEST(Inference, DoublesAreRandomToo) {
  runtime::Plan plan = *copies();
  for (runtime::PlanTensor& tensor : plan.tensors) {
    tensor.dtype = TEMPER_F64;
    tensor.bytes = 32;
  }
  Inference inference(std::make_shared<const runtime::Plan>(plan), 1);
  inference.fill_random(7);
  double first = 0, second = 0;
  std::memcpy(&first, inference.input(0).data(), sizeof first);
  std::memcpy(&second, inference.input(0).data() + sizeof first, sizeof second);
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 1);
  EXPECT_NE(first, second);
}

TEST(Inference, InputsAreCheckedByNameAndSize) {
  Inference inference(copies(), 1);
  const std::vector<std::byte> bytes(16);
  inference.set_input("a", bytes);
  try {
    inference.set_input("c", bytes);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the model has no input 'c'"));
    EXPECT_THAT(error.what(), HasSubstr("inputs: a, b"));
  }
  try {
    inference.set_input("a", std::span(bytes).subspan(4));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("input 'a' has 16 bytes, the file holds 12"));
  }
}

TEST(Inference, DifferenceIsRelativeToTheLargestValue) {
  Inference inference(copies(), 1);
  inference.fill_random(1);
  inference.run();
  EXPECT_TRUE(std::ranges::equal(inference.output(1), inference.input(1)));
  std::vector<peers::Tensor> expected = reference(inference);
  EXPECT_EQ(largest_difference(inference, expected), 0);

  std::vector<float> values(expected[1].as_f32().begin(), expected[1].as_f32().end());
  values[2] = 100;  // the largest value of the reference
  expected[1] = peers::Tensor::f32(expected[1].name, {4}, values);
  float was = 0;
  std::memcpy(&was, inference.output(1).data() + 2 * sizeof(float), sizeof was);
  EXPECT_NEAR(largest_difference(inference, expected), (100.0 - static_cast<double>(was)) / 100, 1e-6);

  values[2] = std::numeric_limits<float>::quiet_NaN();
  expected[1] = peers::Tensor::f32(expected[1].name, {4}, values);
  EXPECT_EQ(largest_difference(inference, expected), std::numeric_limits<double>::infinity());

  expected.pop_back();
  EXPECT_THROW(largest_difference(inference, expected), Error);
}

}  // namespace
}  // namespace temper::app
