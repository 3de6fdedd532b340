// What a check says: the verdict, the lines and the JSON. The comparison itself runs in tests/e2e.
#include "temper/app/model_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace temper::app {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ModelCheck check_of(double output_error, double step_error) {
  ModelCheck check;
  check.version = "1.2.3";
  check.samples = 2;
  check.outputs = {{"y", {output_error, 3, 3}}};
  check.steps = {{"Conv_1", "conv2d(n=1)", "relu", {1, 7, 7, 8}, step_error},
                 {"x.nhwc", "transpose(n=1)", "", {1, 7, 7, 3}, 0},
                 {"Conv_2", "conv2d(n=2)", "y", {1, 8}, 1e-7}};
  return check;
}

TEST(ModelCheck, EqualMeansEveryOutputAndEveryStep) {
  EXPECT_TRUE(check_of(1e-6, 1e-5).equal());
  EXPECT_TRUE(check_of(1e-4, 1e-4).equal()) << "the limit itself is equal";
  EXPECT_FALSE(check_of(1.1e-4, 1e-5).equal());
  EXPECT_FALSE(check_of(1e-6, 1.1e-4).equal());
  EXPECT_FALSE(check_of(1e-6, std::numeric_limits<double>::infinity()).equal());
}

TEST(ModelCheck, TextNamesStepsAndVerdicts) {
  const std::string good = text(check_of(1e-6, 2e-5));
  EXPECT_THAT(good, HasSubstr("Conv_1"));
  EXPECT_THAT(good, HasSubstr("[1,7,7,8]"));
  EXPECT_THAT(good, HasSubstr("2.00e-05  relu\n"));
  EXPECT_THAT(good, HasSubstr("not compared: the model has no value like it"));
  EXPECT_THAT(good, HasSubstr("largest difference of 2 steps to ONNX Runtime 1.2.3: 2.00e-05 of the step's largest "
                              "value, at Conv_1 (equal)"));
  EXPECT_THAT(good, Not(HasSubstr("NOT")));
  const std::string bad = text(check_of(1e-6, 2e-3));
  EXPECT_THAT(bad, HasSubstr("2.00e-03  relu  NOT equal"));
  EXPECT_THAT(bad, HasSubstr("at Conv_1 (NOT equal, the limit is 1e-4)"));
  EXPECT_THAT(bad, HasSubstr("1.00e-06 of the largest output (equal)"));
}

TEST(ModelCheck, JsonHasEveryStep) {
  const nlohmann::json json = to_json(check_of(1e-6, std::numeric_limits<double>::infinity()));
  EXPECT_EQ(json["samples"], 2);
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["compared_steps"], 2);
  EXPECT_EQ(json["max_step_error"], "infinity");
  ASSERT_EQ(json["steps"].size(), 3U);
  EXPECT_EQ(json["steps"][0]["value"], "relu");
  EXPECT_EQ(json["steps"][0]["task"], "conv2d(n=1)");
  EXPECT_EQ(json["steps"][1]["value"], nullptr);
  EXPECT_EQ(json["steps"][1]["max_error"], nullptr);
  EXPECT_EQ(json["outputs"][0]["largest_at"], 3);
  ModelCheck plain = check_of(1e-6, 0);
  plain.steps.clear();
  EXPECT_TRUE(plain.equal());
  EXPECT_FALSE(to_json(plain).contains("steps"));
  EXPECT_THAT(text(plain), Not(HasSubstr("steps")));
}

}  // namespace
}  // namespace temper::app
