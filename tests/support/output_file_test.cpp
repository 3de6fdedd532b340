#include "temper/support/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "temper/support/error.h"

namespace temper {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class OutputFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "temper-output-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~OutputFiles() override { fs::remove_all(folder_); }
  fs::path path(const std::string& name) const { return folder_ / name; }
  static std::string text(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void save(const fs::path& path, std::string_view text) {
    OutputFile file(path, "the text");
    file.write(text);
    EXPECT_EQ(file.written(), static_cast<std::int64_t>(text.size()));
    file.keep();
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

 private:
  fs::path folder_;
};

TEST_F(OutputFiles, AppearWholeOrNotAtAll) {
  {
    OutputFile file(path("a"), "the text");
    file.write("half of");
    EXPECT_FALSE(fs::exists(path("a")));
  }
  EXPECT_EQ(files(), 0) << "nothing is left behind";
  save(path("a"), "one");
  fs::permissions(path("a"), fs::perms::owner_all);
  save(path("a"), "two");
  EXPECT_EQ(text(path("a")), "two");
  EXPECT_EQ(fs::status(path("a")).permissions(), fs::perms::owner_all);
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFiles, LinksStayLinks) {
  fs::create_directory(path("far"));
  save(path("far/target"), "old");
  fs::create_symlink("far/target", path("link"));
  fs::create_symlink("link", path("second"));
  save(path("second"), "new");
  EXPECT_TRUE(fs::is_symlink(path("second")));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text(path("far/target")), "new");
  fs::create_symlink("far/none yet", path("dangling"));
  save(path("dangling"), "made");
  EXPECT_TRUE(fs::is_symlink(path("dangling")));
  EXPECT_EQ(text(path("far/none yet")), "made");
}

TEST_F(OutputFiles, WhatIsNoRegularFileIsWrittenAndStays) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string read;
  std::jthread reader([&] { read = text(path("pipe")); });
  save(path("pipe"), "through");
  reader.join();
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  if (mknod(path("null").c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0) {  // not every user may make devices
    try {
      save(path("null"), "gone");
    } catch (const Error&) {  // nor use them everywhere
    }
    EXPECT_TRUE(fs::is_character_file(path("null")));
  }
}

TEST_F(OutputFiles, ErrorsNameTheTargetAndSayHowToMendIt) {
  const auto message = [&](const fs::path& target) -> std::string {
    try {
      save(target, "x");
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), target.string());
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message(path("no/a")), HasSubstr("the text cannot be written: No such file or directory"));
  EXPECT_THAT(message(path("no/a")), HasSubstr("hint: make its folder"));
  EXPECT_THAT(message(path("")), HasSubstr("hint: give the name of a file"));
  EXPECT_THAT(message(path(std::string(300, 'n'))), HasSubstr("hint: give a shorter name"));
  EXPECT_EQ(message(path(std::string(255, 'n'))), "no error");
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no device that is always full";
  EXPECT_THAT(message("/dev/full"), HasSubstr("hint: free some space"));
}

TEST_F(OutputFiles, InputsAreNotOverwritten) {
  save(path("a"), "precious");
  fs::create_symlink("a", path("b"));
  fs::create_hard_link(path("a"), path("c"));
  for (const char* name : {"a", "b", "c"}) EXPECT_THROW(refuse_overwriting(path("a"), path(name)), Error) << name;
  EXPECT_NO_THROW(refuse_overwriting(path("a"), path("d")));
  EXPECT_NO_THROW(refuse_overwriting(path("missing"), path("d")));
}

}  // namespace
}  // namespace temper
