// Where Temper's own programs are looked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "temper/measure/worker.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

namespace fs = std::filesystem;

TEST(FindProgram, OfAnotherFolderByPath) {
  const fs::path folder = fs::path(::testing::TempDir()) / ("temper-programs-" + std::to_string(getpid()));
  fs::create_directories(folder);
  const std::string name = "temper-of-a-test";
  const std::string before = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  setenv("PATH", ("/nowhere::" + folder.string()).c_str(), 1);
  try {
    find_program(name);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_THAT(error.what(), ::testing::HasSubstr("the program temper-of-a-test is missing"));
    EXPECT_THAT(error.hint(), ::testing::HasSubstr("PATH"));
  }
  std::ofstream(folder / name) << "#!/bin/sh\n";
  EXPECT_THROW(find_program(name), Error) << "it may not be run";
  fs::permissions(folder / name, fs::perms::owner_all);
  EXPECT_EQ(find_program(name), folder / name);
  setenv("PATH", before.c_str(), 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace temper::measure
