// An install prefix works on its own: its programs find each other, and a project that knows only the prefix builds
// and runs against it.
#include <gmock/gmock.h>

#include "e2e/command.h"
#include "e2e/sample_model.h"
#include "paths.h"

namespace temper::e2e {
namespace {

using ::testing::HasSubstr;

class Install : public Programs {};

TEST_F(Install, ProgramsHeadersLibrariesAndPackageServeAConsumer) {
  const fs::path prefix = file("prefix"), build = file("build");
  const Outcome installed = program(TEMPER_CMAKE, {"--install", TEMPER_BUILD_DIR, "--prefix", prefix.string()});
  ASSERT_EQ(installed.code, 0) << installed;

  const fs::path temper = prefix / "bin" / "temper";
  EXPECT_EQ(program(temper, {"target"}).code, 0);
  if (!can_run_generated_code()) GTEST_SKIP() << "code is generated for AVX2 and FMA";
  const Outcome tuned = program(temper, {"tune", "--op", "matmul(m=16,n=16,k=16)", "--trials", "2", "--db", "a.db"});
  EXPECT_EQ(tuned.code, 0) << tuned;
  store::testing::write_file(file("sample.onnx"), sample_model().model.SerializeAsString());
  ASSERT_EQ(program(temper, {"build", "sample.onnx", "-o", "sample.temper"}).code, 0);

  const std::string consumer = (fs::path(paths::source()) / "tests" / "e2e" / "consumer").string();
  const Outcome configured =
      program(TEMPER_CMAKE, {"-S", consumer, "-B", build.string(), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                             "-DCMAKE_PREFIX_PATH=" + prefix.string()});
  ASSERT_EQ(configured.code, 0) << configured;
  const Outcome built = program(TEMPER_CMAKE, {"--build", build.string()});
  ASSERT_EQ(built.code, 0) << built;

  const Outcome from_c = program(build / "from_c", {"sample.temper"});
  EXPECT_EQ(from_c.code, 0) << from_c;
  EXPECT_EQ(from_c.out, "y/out:0 1.2500\n");
  const Outcome from_cpp = program(build / "from_cpp", {});
  EXPECT_EQ(from_cpp.code, 0) << from_cpp;
  EXPECT_EQ(from_cpp.out, "12\ninvalid_argument\n");
  const Outcome libraries = program("/usr/bin/ldd", {(build / "from_c").string()});
  EXPECT_THAT(libraries.out, HasSubstr((prefix / "lib").string()));
  EXPECT_THAT(libraries.out, ::testing::Not(HasSubstr("LLVM")));
}

}  // namespace
}  // namespace temper::e2e
