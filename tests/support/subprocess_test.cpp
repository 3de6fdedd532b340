#include "temper/support/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "temper/support/error.h"

namespace temper {
namespace {

SubprocessOptions shell(const std::string& script) {
  SubprocessOptions options;
  options.executable = "/bin/sh";
  options.arguments = {"-c", script};
  return options;
}

TEST(Subprocess, TellsHowAChildEnded) {
  Subprocess child = Subprocess::start(shell("exit 7"));
  const auto status = child.wait(60);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 7);
  EXPECT_EQ(status->signal, 0);
  EXPECT_EQ(child.wait(0)->code, 7) << "and says so again";
  EXPECT_EQ(Subprocess::start(shell("kill -SEGV $$")).wait(60)->signal, SIGSEGV);
}

TEST(Subprocess, WaitsNoLongerThanAsked) {
  Subprocess child = Subprocess::start(shell("sleep 1000"));
  EXPECT_FALSE(child.wait(0));
  EXPECT_FALSE(child.wait(0.01));
  EXPECT_EQ(child.kill().signal, SIGKILL);
  EXPECT_EQ(child.wait(0)->signal, SIGKILL);
}

TEST(Subprocess, ItsEndTakesTheWholeGroupAlong) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  {
    SubprocessOptions options = shell("sleep 1000 & echo x >&5; wait");
    options.descriptors = {{pipe_ends[1], 5}};
    const Subprocess child = Subprocess::start(options);
    close(pipe_ends[1]);
    char byte = 0;
    ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
    ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
  }
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0) << "the grandchild held the pipe open and is gone";
  close(pipe_ends[0]);
}

TEST(Subprocess, PassesDescriptorsEvenWhenTheirNumbersCross) {
  std::array<UniqueFd, 2> files{UniqueFd(memfd_create("a", MFD_CLOEXEC)), UniqueFd(memfd_create("b", MFD_CLOEXEC))};
  SubprocessOptions options = shell("echo first >&$1; echo second >&$2; echo trouble >&2");
  UniqueFd errors(memfd_create("errors", MFD_CLOEXEC));
  options.standard_error = errors.get();
  options.arguments.insert(options.arguments.end(), {"sh", "9", "8"});
  // Our numbers 8 and 9 become the child's 9 and 8.
  const int kept8 = fcntl(8, F_GETFD), kept9 = fcntl(9, F_GETFD);
  ASSERT_TRUE(kept8 < 0 && kept9 < 0) << "the test needs these two numbers";
  ASSERT_EQ(dup3(files[0].get(), 8, O_CLOEXEC), 8);
  ASSERT_EQ(dup3(files[1].get(), 9, O_CLOEXEC), 9);
  options.descriptors = {{8, 9}, {9, 8}};
  EXPECT_EQ(Subprocess::start(options).wait(60)->code, 0);
  close(8);
  close(9);
  const auto text = [](const UniqueFd& file) {
    std::array<char, 64> buffer{};
    return std::string(buffer.data(), static_cast<std::size_t>(pread(file.get(), buffer.data(), buffer.size(), 0)));
  };
  EXPECT_EQ(text(files[0]), "first\n");
  EXPECT_EQ(text(files[1]), "second\n");
  EXPECT_EQ(text(errors), "trouble\n");
}

TEST(Subprocess, NamesAProgramThatIsMissing) {
  SubprocessOptions options;
  options.executable = "/nowhere/program";
  try {
    Subprocess::start(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_EQ(error.where(), "/nowhere/program");
  }
}

TEST(Subprocess, Moves) {
  Subprocess first = Subprocess::start(shell("sleep 1000"));
  const pid_t pid = first.pid();
  Subprocess second = std::move(first);
  EXPECT_EQ(second.pid(), pid);
  second = Subprocess::start(shell("exit 0"));
  EXPECT_NE(second.pid(), pid);
}

TEST(Spawner, StartsFromAnyThreadAndPassesErrorsOn) {
  Spawner spawner;
  std::array<int, 4> codes{};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      codes[static_cast<std::size_t>(i)] = spawner.start(shell("exit " + std::to_string(i))).wait(60)->code;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(codes, (std::array<int, 4>{0, 1, 2, 3}));
  SubprocessOptions missing;
  missing.executable = "/nowhere/program";
  EXPECT_THROW(spawner.start(missing), Error);
}

TEST(SignalName, IsTheUsualOne) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
  EXPECT_EQ(signal_name(200), "signal 200");
}

}  // namespace
}  // namespace temper
