#include "temper/protocol/endpoint.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <fstream>

#include "runtime/temporary_folder.h"
#include "temper/support/error.h"

namespace temper::protocol {
namespace {

using temper::testing::TemporaryFolder;

template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "accepted";
  return {ErrorCode::Internal, "accepted"};
}

TEST(Endpoint, ReadsWhatItWrites) {
  for (const char* text : {"unix:/run/temper.sock", "unix:relative", "tcp://127.0.0.1:7070", "tcp://[::1]:7070",
                           "tcp://build-machine.example:1", "tcp://0.0.0.0:65535"})
    EXPECT_EQ(parse_endpoint(text).text(), text);
  EXPECT_EQ(parse_endpoint("tcp://[fe80::1]:9").host, "fe80::1");
  EXPECT_TRUE(parse_endpoint("tcp://:7070").host.empty());
  EXPECT_FALSE(parse_endpoint("unix:x").is_tcp());
}

TEST(Endpoint, RefusesWhatIsNone) {
  for (const char* text : {"", "unix:", "tcp://", "tcp://host", "tcp://host:", "tcp://host:70000", "tcp://host:-1",
                           "tcp://host:7x", "tcp://a b:7", "tcp://::1:7", "tcp://[::1:7", "http://host:7", "host:7"}) {
    const Error error = error_of([&] { parse_endpoint(text); });
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument) << text;
    EXPECT_NE(error.message().find("'" + std::string(text) + "'"), std::string::npos) << error.what();
    EXPECT_FALSE(error.hint().empty());
  }
}

/// Whether bytes go through.
void expect_connected(Listener& listener) {
  const UniqueFd client = connect_to(listener.endpoint(), 5);
  const std::optional<UniqueFd> server = listener.accept(5.0);
  ASSERT_TRUE(server);
  send_all(client.get(), std::array{'o', 'k'}, Deadline(5.0));
  std::array<char, 2> got{};
  ASSERT_TRUE(receive_all(server->get(), got, Deadline(5.0)));
  EXPECT_EQ(got[1], 'k');
}

TEST(Endpoint, ConnectsOverBothKinds) {
  const TemporaryFolder folder;
  Listener local(parse_endpoint("unix:" + (folder / "socket").string()));
  expect_connected(local);
  Listener network(parse_endpoint("tcp://:0"));
  EXPECT_EQ(network.endpoint().host, "127.0.0.1") << "loopback, unless something else is written out";
  EXPECT_GT(network.endpoint().port, 0);
  expect_connected(network);
  EXPECT_FALSE(network.accept(0.0)) << "nobody is there";
}

TEST(Endpoint, ASocketFileIsForItsOwnerAndGoesAtTheEnd) {
  const TemporaryFolder folder;
  const Endpoint endpoint = parse_endpoint("unix:" + (folder / "socket").string());
  struct stat status{};
  {
    const Listener listener(endpoint);
    ASSERT_EQ(stat(endpoint.path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    EXPECT_EQ(error_of([&] { const Listener second(endpoint); }).code(), ErrorCode::Busy) << "somebody listens";
  }
  EXPECT_NE(stat(endpoint.path.c_str(), &status), 0);
}

TEST(Endpoint, ReplacesWhatAKilledRunnerLeftAndNothingElse) {
  const TemporaryFolder folder;
  const Endpoint endpoint = parse_endpoint("unix:" + (folder / "socket").string());
  {
    const Listener listener(endpoint);
    std::filesystem::create_hard_link(endpoint.path, folder / "kept");
  }
  std::filesystem::rename(folder / "kept", endpoint.path);  // as after kill -9
  Listener again(endpoint);
  expect_connected(again);
  const std::string text = (folder / "text").string();
  std::ofstream(text) << "keep";
  EXPECT_EQ(error_of([&] { const Listener listener(parse_endpoint("unix:" + text)); }).code(),
            ErrorCode::InvalidArgument);
  EXPECT_TRUE(std::filesystem::exists(text));
}

TEST(Endpoint, SaysWhyNobodyIsThere) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { connect_to(parse_endpoint("unix:" + (folder / "none").string()), 1); }).code(),
            ErrorCode::Io);
  Endpoint closed;
  {
    const Listener listener(parse_endpoint("tcp://:0"));
    closed = listener.endpoint();
  }
  const Error refused = error_of([&] { connect_to(closed, 1); });
  EXPECT_EQ(refused.code(), ErrorCode::Io);
  EXPECT_EQ(refused.where(), closed.text());
  EXPECT_EQ(error_of([] { connect_to(parse_endpoint("tcp://:7"), 1); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { connect_to(parse_endpoint("tcp://no such host.invalid:7"), 1); }).code(),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { connect_to(parse_endpoint("unix:" + std::string(200, 'a')), 1); }).code(),
            ErrorCode::InvalidArgument);
  Listener busy(parse_endpoint("tcp://:0"));
  EXPECT_EQ(error_of([&] { const Listener second(busy.endpoint()); }).code(), ErrorCode::Busy);
}

}  // namespace
}  // namespace temper::protocol
