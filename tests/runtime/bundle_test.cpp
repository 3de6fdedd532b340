#include "temper/runtime/bundle.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/sample_plans.h"
#include "runtime/temporary_folder.h"
#include "temper/runtime/executor.h"
#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::runtime {
namespace {

using temper::testing::chain_plan;
using temper::testing::TemporaryFolder;
using temper::testing::two_step_plan;

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void expect_refused(std::span<const std::byte> bytes, ErrorCode code, const std::string& text) {
  try {
    parse_bundle(Bytes::copy_of(bytes), "it.temper");
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_EQ(error.where(), "it.temper");
    EXPECT_NE(error.message().find(text), std::string::npos) << error.what();
  }
}

TEST(Bundle, GivesBackThePlan) {
  const TemporaryFolder folder;
  Plan plan = chain_plan(3, false);
  plan.cpu_features = {"sse2"};
  plan.metadata = {{"model", "kette \xC3\xA4"}, {"empty", ""}};
  plan.tensors.push_back(temper::testing::tensor("half", TensorKind::Output, {16}));
  plan.tensors.back().view_of = 2;
  plan.tensors.back().view_offset = 64;
  plan.outputs.push_back(static_cast<std::int32_t>(plan.tensors.size() - 1));
  plan_memory(plan);
  save_bundle(plan, folder / "m.temper");
  const auto loaded = load_bundle(folder / "m.temper");
  ASSERT_EQ(loaded->tensors.size(), plan.tensors.size());
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor &a = loaded->tensors[i], &b = plan.tensors[i];
    EXPECT_EQ(std::tie(a.name, a.dtype, a.shape, a.bytes, a.kind, a.constant, a.view_of, a.view_offset, a.strides,
                       a.arena_offset),
              std::tie(b.name, b.dtype, b.shape, b.bytes, b.kind, b.constant, b.view_of, b.view_offset, b.strides,
                       b.arena_offset));
  }
  ASSERT_EQ(loaded->steps.size(), plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    EXPECT_EQ(loaded->steps[i].name, plan.steps[i].name);
    EXPECT_EQ(loaded->steps[i].artifact, plan.steps[i].artifact);
    ASSERT_EQ(loaded->steps[i].buffers.size(), plan.steps[i].buffers.size());
    for (std::size_t j = 0; j < plan.steps[i].buffers.size(); ++j) {
      EXPECT_EQ(loaded->steps[i].buffers[j].tensor, plan.steps[i].buffers[j].tensor);
      EXPECT_EQ(loaded->steps[i].buffers[j].offset, plan.steps[i].buffers[j].offset);
    }
  }
  EXPECT_TRUE(loaded->artifacts == plan.artifacts);
  EXPECT_TRUE(loaded->constants == plan.constants);
  for (const Bytes& constant : loaded->constants) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(constant.data()) % kAlignment, 0u);
  }
  EXPECT_EQ(std::tie(loaded->inputs, loaded->outputs, loaded->arena_bytes, loaded->cpu_features, loaded->metadata),
            std::tie(plan.inputs, plan.outputs, plan.arena_bytes, plan.cpu_features, plan.metadata));
  const auto files = std::distance(std::filesystem::directory_iterator(folder.path()), {});
  EXPECT_EQ(files, 1) << "a temporary file was left behind";
}

TEST(Bundle, RunsAfterItsFileIsGone) {
  const TemporaryFolder folder;
  save_bundle(two_step_plan(), folder / "m.temper");
  const auto loaded = load_bundle(folder / "m.temper");
  std::filesystem::remove(folder / "m.temper");
  Executor executor(loaded);
  std::vector<float> x(64, 1), y(64, 2), out(64);
  const void* inputs[] = {x.data(), y.data()};
  void* outputs[] = {out.data()};
  executor.run(inputs, outputs);
  EXPECT_EQ(out, std::vector<float>(64, 6));
}

TEST(Bundle, EveryTruncationIsNoticed) {
  const TemporaryFolder folder;
  save_bundle(two_step_plan(), folder / "m.temper");
  const std::vector<std::byte> bytes = read_file(folder / "m.temper");
  expect_refused({}, ErrorCode::Corrupt, "empty");
  for (std::size_t size = 1; size < bytes.size(); size += size < 4096 ? 1 : 509) {
    expect_refused(std::span(bytes).first(size), ErrorCode::Corrupt, "cut short");
    if (::testing::Test::HasFailure()) FAIL() << "at " << size << " of " << bytes.size();
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  expect_refused(longer, ErrorCode::Corrupt, "behind its end");
}

TEST(Bundle, EveryDamagedByteIsNoticed) {
  const TemporaryFolder folder;
  save_bundle(two_step_plan(), folder / "m.temper");
  const std::vector<std::byte> bytes = read_file(folder / "m.temper");
  std::uint64_t json_bytes = 0;
  std::memcpy(&json_bytes, bytes.data() + 24, sizeof json_bytes);
  const std::size_t json_end = 64 + json_bytes;
  for (std::size_t at = 0; at < bytes.size(); at += at < json_end ? 3 : 257) {
    if (json_end <= at && at < static_cast<std::size_t>(align_up(static_cast<std::int64_t>(json_end))))
      continue;  // padding
    std::vector<std::byte> damaged = bytes;
    damaged[at] ^= std::byte{0x10};
    try {
      parse_bundle(Bytes::copy_of(damaged), "it.temper");
      // What lies between two parts is padding and has no meaning.
      EXPECT_EQ(bytes[at], std::byte{0}) << "accepted with byte " << at << " damaged";
      EXPECT_GT(at, json_end);
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::Corrupt || error.code() == ErrorCode::Version)
          << at << ": " << error.what();
    }
  }
}

/// The bundle with its header changed and signed anew.
std::vector<std::byte> with_header(std::vector<std::byte> bytes, std::size_t offset, std::uint64_t value,
                                   std::size_t size) {
  std::memcpy(bytes.data() + offset, &value, size);
  const std::uint64_t hash = hash_bytes(std::span(bytes).first(56));
  std::memcpy(bytes.data() + 56, &hash, sizeof hash);
  return bytes;
}

TEST(Bundle, ExplainsOtherVersionsAndOtherFiles) {
  const TemporaryFolder folder;
  save_bundle(two_step_plan(), folder / "m.temper");
  const std::vector<std::byte> bytes = read_file(folder / "m.temper");
  expect_refused(with_header(bytes, 8, 3, 4), ErrorCode::Version, "has version 3, this Temper reads up to 2");
  EXPECT_NO_THROW(parse_bundle(Bytes::copy_of(with_header(bytes, 8, 1, 4)), "version 1"));
  expect_refused(with_header(bytes, 8, 0, 4), ErrorCode::Corrupt, "header is damaged");
  expect_refused(with_header(bytes, 24, ~std::uint64_t{0}, 8), ErrorCode::Corrupt, "header is damaged");
  expect_refused(with_header(bytes, 24, 8, 8), ErrorCode::Corrupt, "description is damaged");
  expect_refused(temper::testing::artifact_bytes("add"), ErrorCode::Corrupt, "of another kind");
  EXPECT_THROW(load_bundle(folder / "missing.temper"), Error);
  try {
    load_bundle(folder / "missing.temper");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
  }
  try {
    load_bundle(folder.path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Io);
  }
}

TEST(Bundle, RefusesDescriptionsThatLie) {
  const TemporaryFolder folder;
  save_bundle(two_step_plan(), folder / "m.temper");
  const std::vector<std::byte> bytes = read_file(folder / "m.temper");
  // Replaces text in the description by other text of the same length, and signs the result.
  const auto with = [&](const std::string& from, const std::string& to) {
    EXPECT_EQ(from.size(), to.size());
    std::vector<std::byte> changed = bytes;
    std::uint64_t json_bytes = 0;
    std::memcpy(&json_bytes, bytes.data() + 24, sizeof json_bytes);
    std::string text(reinterpret_cast<const char*>(bytes.data()) + 64, json_bytes);
    const std::size_t found = text.find(from);
    EXPECT_NE(found, std::string::npos) << from << " in " << text;
    text.replace(found, from.size(), to);
    std::memcpy(changed.data() + 64, text.data(), text.size());
    return with_header(changed, 32, hash_text(text), 8);
  };
  expect_refused(with("\"steps\"", "\"stops\""), ErrorCode::Corrupt, "description is malformed");
  expect_refused(with("{\"arena", "[\"arena"), ErrorCode::Corrupt, "description is malformed");
  expect_refused(with("\"offset\":0", "\"offset\":1"), ErrorCode::Corrupt, "outside of the file");
  expect_refused(with("\"offset\":0", "\"offset\":x"), ErrorCode::Corrupt, "malformed");
}

TEST(Bundle, SavingNamesWhatWentWrong) {
  const TemporaryFolder folder;
  try {
    save_bundle(two_step_plan(), folder / "no" / "m.temper");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_NE(std::string(error.what()).find("m.temper"), std::string::npos);
  }
  if (std::filesystem::exists("/dev/full")) {
    Plan plan = two_step_plan();
    plan.arena_bytes = -1;
    EXPECT_THROW(save_bundle(plan, folder / "m.temper"), Error) << "an invalid plan is not written";
    EXPECT_FALSE(std::filesystem::exists(folder / "m.temper"));
  }
}

/// Runs a command; what it prints, and its exit code.
std::pair<std::string, int> run_command(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t count = fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), count);
  const int status = pclose(pipe);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

TEST(CApi, RunsABundleFromC) {
  const TemporaryFolder folder;
  save_bundle(two_step_plan(), folder / "m.temper");
  const std::string program = TEMPER_CAPI_SMOKE, path = (folder / "m.temper").string();
  for (const char* threads : {"1", "2"}) {
    const auto [text, code] = run_command(program + " " + path + " " + threads);
    EXPECT_EQ(code, 0) << text;
    EXPECT_EQ(text, "4096\n");  // sum of 2 * (i + 0.5) over 64 elements
  }
  EXPECT_EQ(run_command(program + " " + path + " 0").second, 1);
  const auto [text, code] = run_command(program + " " + path + ".missing 1");
  EXPECT_EQ(code, 4);
  EXPECT_NE(text.find("cannot open the bundle"), std::string::npos) << text;
  std::ofstream(folder / "bad.temper") << "something else entirely";
  EXPECT_EQ(run_command(program + " " + (folder / "bad.temper").string() + " 1").second, 6);
}

TEST(CApi, NeedsNeitherCompilerNorTuner) {
  const auto [text, code] = run_command("ldd " TEMPER_CAPI_SMOKE);
  ASSERT_EQ(code, 0);
  EXPECT_NE(text.find("libtemper_runtime"), std::string::npos) << text;
  for (const char* library : {"LLVM", "protobuf", "xgboost", "sqlite", "hwloc", "spdlog", "fmt"}) {
    EXPECT_EQ(text.find(library), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace temper::runtime
