// The conversation and its process when things go wrong: an error each time, never a hang, and no process left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "peers/reference.h"
#include "temper/peers/child_process.h"
#include "temper/peers/peer.h"
#include "temper/peers/serve.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::pair<Channel, Channel> channels() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0)
    throw Error(ErrorCode::Io, std::strerror(errno));
  return {Channel(pair[0]), Channel(pair[1])};
}

template <class Action>
std::string error_of(Action action, ErrorCode code) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

PeerWork matmul() { return {"matmul", {{"m", 8}, {"n", 8}, {"k", 8}}, Layout::Native, {}, true, {}, {}}; }

Peer openblas(double timeout_seconds) {
  PeerOptions options = PeerOptions::defaults();
  options.timeout_seconds = timeout_seconds;
  return Peer("openblas", options);
}

TEST(Messages, ArriveAsTheyWereSent) {
  auto [left, right] = channels();
  const std::array<float, 6> values{1, -2, 3.5F, 0, 1e-30F, 7};
  const std::array<std::int64_t, 1> numbers{std::int64_t{1} << 40};
  left.send({{{"type", "x"}, {"text", "\"\\\n"}},
             {Tensor::f32("a", {2, 3}, values), Tensor::i64("b", {}, numbers), Tensor::f32("c", {0, 4}, {})}},
            5);
  const Message message = right.receive(5);
  EXPECT_EQ(message.header.at("text"), "\"\\\n");
  ASSERT_EQ(message.tensors.size(), 3U);
  EXPECT_EQ(message.tensors[0].dims, (std::vector<std::int64_t>{2, 3}));
  EXPECT_THAT(message.tensors[0].as_f32(), ::testing::ElementsAreArray(values));
  EXPECT_EQ(message.tensors[1].dtype, "i64");
  EXPECT_EQ(message.tensors[1].data.size(), 8U);
  EXPECT_TRUE(message.tensors[2].data.empty());
}

TEST(Messages, LargerThanASocketsBufferPassWhole) {
  auto [left, right] = channels();
  const std::vector<float> values(3'000'000, 0.25F);
  std::thread sender(
      [&left = left, &values] { left.send({nlohmann::json::object(), {Tensor::f32("a", {3'000'000}, values)}}, 30); });
  const Message message = right.receive(30);
  sender.join();
  EXPECT_EQ(message.tensors.at(0).as_f32().back(), 0.25F);
}

TEST(Messages, AClosedChannelAndSilenceAreErrors) {
  auto [left, right] = channels();
  EXPECT_THAT(error_of([&right = right] { right.receive(0.02); }, ErrorCode::Io), HasSubstr("did not answer in time"));
  const std::vector<float> values(3'000'000);
  EXPECT_THAT(error_of([&] { left.send({nlohmann::json::object(), {Tensor::f32("a", {3'000'000}, values)}}, 0.02); },
                       ErrorCode::Io),
              HasSubstr("did not answer in time"));
  {
    const Channel gone = std::move(left);
  }
  auto [other, end] = channels();
  {
    const Channel gone = std::move(other);
  }
  EXPECT_THAT(error_of([&end = end] { end.receive(5); }, ErrorCode::Io), HasSubstr("has ended"));
  EXPECT_THAT(error_of([&end = end] { end.send({nlohmann::json::object(), {}}, 5); }, ErrorCode::Io),
              HasSubstr("has ended"));
}

/// What `receive` says about a frame of these parts.
std::string damaged(std::uint32_t magic, const std::string& header, std::uint64_t payload_bytes,
                    std::uint32_t header_bytes) {
  auto [left, right] = channels();
  std::string bytes(16, '\0');
  std::memcpy(bytes.data(), &magic, 4);
  std::memcpy(bytes.data() + 4, &header_bytes, 4);
  std::memcpy(bytes.data() + 8, &payload_bytes, 8);
  bytes += header;
  EXPECT_EQ(::write(left.fd(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return error_of([&right = right] { right.receive(5); }, ErrorCode::Corrupt);
}

TEST(Messages, DamagedFramesAreRefusedBeforeMemoryIsTaken) {
  constexpr std::uint32_t kMagic = 0x52505054;
  const auto frame = [](const std::string& header, std::uint64_t payload) {
    return damaged(kMagic, header, payload, static_cast<std::uint32_t>(header.size()));
  };
  EXPECT_THAT(damaged(1, "{}", 0, 2), HasSubstr("wrong magic"));
  EXPECT_THAT(damaged(kMagic, "{}", 0, 0xffffffffU), HasSubstr("absurd length"));
  EXPECT_THAT(damaged(kMagic, "{}", ~std::uint64_t{0}, 2), HasSubstr("absurd length"));
  EXPECT_THAT(frame("{", 0), HasSubstr("parse error"));
  EXPECT_THAT(frame("{}", 0), HasSubstr("tensors"));
  EXPECT_THAT(frame(R"({"tensors":[]})", 4), HasSubstr("the payload exceeds its tensors"));
  EXPECT_THAT(frame(R"({"tensors":[{"name":"a","dtype":"f32","dims":[2]}]})", 4),
              HasSubstr("tensors exceed the payload"));
  EXPECT_THAT(frame(R"({"tensors":[{"name":"a","dtype":"f32","dims":[-1]}]})", 4),
              HasSubstr("tensors exceed the payload"));
  EXPECT_THAT(frame(R"({"tensors":[{"name":"a","dtype":"f32","dims":[4294967296,4294967296]}]})", 4),
              HasSubstr("tensors exceed the payload"));
}

TEST(Process, AKilledPeerIsAnErrorThatNamesTheSignal) {
  Peer peer = openblas(60);
  peer.prepare(matmul(), testing::random_inputs(matmul(), 1));
  ASSERT_EQ(::kill(peer.process_id(), SIGKILL), 0);
  EXPECT_THAT(error_of([&] { peer.run(1); }, ErrorCode::Io),
              AllOf(HasSubstr("ended by SIGKILL"), HasSubstr("OpenBLAS")));
  EXPECT_THAT(error_of([&] { peer.outputs(); }, ErrorCode::Io), HasSubstr("ended by SIGKILL"));
}

TEST(Process, APeerThatHangsIsGivenUp) {
  Peer peer = openblas(60);
  peer.prepare(matmul(), testing::random_inputs(matmul(), 1));
  const int pid = peer.process_id();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  peer = [] { return openblas(60); }();  // ending a stopped peer does not hang either
  EXPECT_EQ(::kill(pid, 0), -1);

  Peer hasty = openblas(0.5);
  ASSERT_EQ(::kill(hasty.process_id(), SIGSTOP), 0);
  EXPECT_THAT(error_of([&] { hasty.run(1); }, ErrorCode::Io), HasSubstr("did not answer in time"));
}

TEST(Process, ThePeerEndsWithItsOwner) {
  int pid = 0;
  {
    const Peer peer = openblas(60);
    pid = peer.process_id();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Process, AChildExitsWhenItsChannelCloses) {
  // Straight from the executable, without the owner's kill: what happens when the tuner itself is killed.
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const std::string path = PeerOptions::defaults().native_executable.string();
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int copy = ::fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    ::dup2(copy, 3);
    ::execl(path.c_str(), path.c_str(), "openblas", "libopenblas.so.0", "1", nullptr);
    ::_exit(127);
  }
  ::close(pair[1]);
  ::close(pair[0]);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Process, ItsLastWordsAreKept) {
  ChildCommand command;
  command.executable = "/bin/sh";
  command.arguments = {"-c", "echo nothing is well >&2; exit 3"};
  ChildProcess child(command);
  EXPECT_THAT(error_of([&] { child.channel().receive(10); }, ErrorCode::Io), HasSubstr("has ended"));
  EXPECT_EQ(child.end_and_describe(), "ended with exit code 3; its last words: nothing is well");
}

TEST(Process, ItsEnvironmentIsCleanAndItsCoresAreGiven) {
  ::setenv("OPENBLAS_TEST_LEAK", "1", 1);
  ChildCommand command;
  command.executable = "/bin/sh";
  command.arguments = {"-c",
                       "echo leak=$OPENBLAS_TEST_LEAK set=$OMP_NUM_THREADS; grep Cpus_allowed_list /proc/self/status"};
  command.dropped_prefixes = {"OPENBLAS_"};
  command.environment = {{"OMP_NUM_THREADS", "7"}};
  command.cores = first_cores(1);
  ChildProcess child(command);
  EXPECT_THROW(child.channel().receive(10), Error);
  const std::string text = child.end_and_describe();
  EXPECT_THAT(text, HasSubstr("leak= set=7"));
  EXPECT_THAT(text, HasSubstr("Cpus_allowed_list:\t" + std::to_string(command.cores[0])));
  ::unsetenv("OPENBLAS_TEST_LEAK");
}

TEST(Process, MoreCoresThanThereAreIsAnError) {
  EXPECT_THAT(error_of([] { first_cores(1'000'000); }, ErrorCode::InvalidArgument), HasSubstr("cores"));
  EXPECT_THROW(first_cores(0), Error);
}

TEST(Process, TheUsersOpenBlasSettingsDoNotReachThePeer) {
  const Peer before = openblas(60);
  // OpenBLAS takes a processor that it does not know for an old one.
  const bool is_prescott = before.version().find("Prescott") != std::string::npos;
  ::setenv("OPENBLAS_CORETYPE", is_prescott ? "Haswell" : "Prescott", 1);
  const Peer peer = openblas(60);
  EXPECT_EQ(peer.version(), before.version());
  ::unsetenv("OPENBLAS_CORETYPE");
}

/// Counts its runs; refuses what is not a matmul.
class FakeLibrary final : public NativeLibrary {
 public:
  explicit FakeLibrary(int& runs) : runs_(runs) {}
  std::string version() const override { return "1.2.3"; }
  void prepare(const PeerWork& work, std::vector<Tensor>) override {
    if (work.op != "matmul") throw Error(ErrorCode::Unsupported, "no", "here", "there");
  }
  void run() override { ++runs_; }
  Tensor output() override { return Tensor::f32("out", {1}, std::array<float, 1>{static_cast<float>(runs_)}); }
  double spin_seconds() const override { return 0; }

 private:
  int& runs_;
};

TEST(Serving, AnswersInOrderAndSurvivesBadRequests) {
  auto [parent, child] = channels();
  int runs = 0;
  std::thread server(
      [&child = child, &runs] { serve(child, [&runs] { return std::make_unique<FakeLibrary>(runs); }); });
  const auto ask = [&parent = parent](nlohmann::json header, std::vector<Tensor> tensors = {}) {
    parent.send({std::move(header), std::move(tensors)}, 10);
    return parent.receive(10);
  };
  const auto failed_with = [](const Message& reply) { return reply.header.at("error").at("code").get<std::string>(); };
  PeerWork softmax = {"softmax", {{"rows", 2}, {"cols", 2}}, Layout::Native, {}, true, {}, {}};
  EXPECT_EQ(failed_with(ask({{"type", "prepare"}, {"work", to_json(matmul())}})), "corrupt");
  EXPECT_EQ(ask({{"type", "hello"}}).header.at("version"), "1.2.3");
  EXPECT_EQ(failed_with(ask({{"type", "run"}, {"calls", 1}, {"warmup", 0}})), "invalid_argument");
  EXPECT_EQ(failed_with(ask({{"type", "dance"}})), "corrupt");
  EXPECT_EQ(failed_with(ask({{"kind", "hello"}})), "corrupt");
  EXPECT_EQ(failed_with(ask({{"type", "prepare"}, {"work", {{"op", "matmul"}}}})), "corrupt");
  const Message refused = ask({{"type", "prepare"}, {"work", to_json(softmax)}}, testing::random_inputs(softmax, 1));
  EXPECT_EQ(refused.header.at("error"),
            nlohmann::json({{"code", "unsupported"}, {"message", "no"}, {"where", "here"}, {"hint", "there"}}));
  EXPECT_FALSE(ask({{"type", "prepare"}, {"work", to_json(matmul())}}, testing::random_inputs(matmul(), 1))
                   .header.contains("error"));
  EXPECT_EQ(failed_with(ask({{"type", "outputs"}})), "invalid_argument");
  ask({{"type", "run"}, {"calls", 3}, {"warmup", 2}});
  EXPECT_EQ(ask({{"type", "outputs"}}).tensors.at(0).as_f32()[0], 5.0F);
  ::shutdown(parent.fd(), SHUT_RDWR);
  server.join();
}

}  // namespace
}  // namespace temper::peers
