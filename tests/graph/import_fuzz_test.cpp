// Damaged models end in an Error or in a graph that holds together, never in a crash.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "graph/model_builder.h"
#include "graph/numbers.h"
#include "graph/random_model.h"
#include "temper/graph/pipeline.h"
#include "temper/graph/tasks.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

/// A model with every kind of field in it: attributes, typed and raw data, symbols, constants.
std::vector<std::byte> sample() {
  testing::ModelBuilder b =
      testing::random_model({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 200, 100, 50});
  b.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(
      "n");
  onnx::TensorProto* typed = b.graph().add_initializer();
  typed->set_name("typed");
  typed->set_data_type(onnx::TensorProto::INT64);
  typed->add_dims(2);
  typed->add_int64_data(5);
  typed->add_int64_data(6);
  return b.bytes();
}

/// Everything the command line would do with the file before code is generated.
void use(std::span<const std::byte> bytes) {
  try {
    const Graph graph = import_onnx(bytes, {}, "damaged.onnx");
    verify(graph);
    extract_tasks(optimise(graph, {{"x", {3, 3, 6, 5}}}));
  } catch (const Error& error) {
    // A bug of ours would say Internal; a damaged file must be told as such.
    RC_ASSERT(error.code() != ErrorCode::Internal);
    RC_ASSERT(!error.message().empty());
  }
}

TEST(ImportFuzz, TheSampleItselfIsFine) {
  const Graph graph = import_onnx(sample(), {}, "sample.onnx");
  EXPECT_FALSE(extract_tasks(optimise(graph, {{"x", {3, 3, 6, 5}}})).steps.empty());
}

TEST(ImportFuzz, EveryTruncationIsAnError) {
  const std::vector<std::byte> bytes = sample();
  for (std::size_t length = 0; length < bytes.size(); length += 1 + bytes.size() / 2000) {
    EXPECT_THROW(import_onnx(std::span(bytes).first(length), {}, "cut.onnx"), Error) << length;
  }
}

RC_GTEST_PROP(ImportFuzz, FlippedBits, ()) {
  std::vector<std::byte> bytes = sample();
  const auto flips = *rc::gen::inRange(1, 8);
  for (int i = 0; i < flips; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    bytes[at] ^= std::byte{1} << *rc::gen::inRange(0, 8);
  }
  use(bytes);
}

RC_GTEST_PROP(ImportFuzz, OverwrittenRuns, ()) {
  std::vector<std::byte> bytes = sample();
  const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
  const auto noise = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
  for (std::size_t i = 0; i < noise.size() && at + i < bytes.size(); ++i) bytes[at + i] = std::byte{noise[i]};
  use(bytes);
}

RC_GTEST_PROP(ImportFuzz, Noise, ()) {
  const auto noise = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
  use(std::as_bytes(std::span(noise)));
}

}  // namespace
}  // namespace temper::graph
