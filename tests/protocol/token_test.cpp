#include "temper/protocol/token.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <fstream>

#include "runtime/temporary_folder.h"
#include "temper/protocol/channel.h"
#include "temper/support/error.h"

namespace temper::protocol {
namespace {

using temper::testing::TemporaryFolder;

const std::string kToken = "0123456789abcdef";

bool lets_in(const std::string& given, const std::string& expected) {
  SocketPair pair = make_socket_pair();
  send_token(pair.first.get(), given, 5.0);
  return receive_token(pair.second.get(), expected, 5.0);
}

TEST(Token, OnlyTheRightOneLetsIn) {
  EXPECT_TRUE(lets_in(kToken, kToken));
  EXPECT_TRUE(lets_in("", ""));
  EXPECT_TRUE(lets_in(std::string(kMostTokenBytes, 'x'), std::string(kMostTokenBytes, 'x')));
  EXPECT_FALSE(lets_in("", kToken));
  EXPECT_FALSE(lets_in(kToken, ""));
  EXPECT_FALSE(lets_in(kToken + "0", kToken));
  EXPECT_FALSE(lets_in(kToken.substr(1), kToken));
  for (std::size_t i = 0; i < kToken.size(); ++i) {
    std::string wrong = kToken;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    EXPECT_FALSE(lets_in(wrong, kToken)) << "byte " << i;
  }
  EXPECT_FALSE(lets_in(kToken + '\0', kToken)) << "zeros at the end count";
}

TEST(Token, GarbageSilenceAndAnEndAreNoToken) {
  SocketPair pair = make_socket_pair();
  send_all(pair.first.get(), std::string(1000, 'G'), Deadline(5.0));
  EXPECT_FALSE(receive_token(pair.second.get(), kToken, 5.0));
  pair = make_socket_pair();
  send_all(pair.first.get(), std::string("TPRA"), Deadline(5.0));
  try {
    receive_token(pair.second.get(), kToken, 0.02);
    FAIL() << "the rest never comes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Busy);
  }
  pair.first.reset();
  EXPECT_FALSE(receive_token(pair.second.get(), kToken, 5.0));
}

TEST(Token, NothingBehindItIsRead) {
  SocketPair pair = make_socket_pair();
  send_token(pair.first.get(), kToken, 5.0);
  send_all(pair.first.get(), std::string("next"), Deadline(5.0));
  EXPECT_FALSE(receive_token(pair.second.get(), kToken + "x", 5.0));
  std::array<char, 4> next{};
  ASSERT_TRUE(receive_all(pair.second.get(), next, Deadline(5.0)));
  EXPECT_EQ(std::string(next.begin(), next.end()), "next");
}

TEST(Token, IsReadFromAFileThatNobodyElseMayRead) {
  const TemporaryFolder folder;
  const std::string file = (folder / "token").string();
  const auto code = [&] {
    try {
      read_token(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), file);
      return error.code();
    }
    ADD_FAILURE() << "accepted";
    return ErrorCode::Internal;
  };
  EXPECT_EQ(code(), ErrorCode::NotFound);
  std::ofstream(file) << kToken << " \r\n\n";
  chmod(file.c_str(), 0644);
  EXPECT_EQ(code(), ErrorCode::InvalidArgument) << "others may read it";
  chmod(file.c_str(), 0600);
  EXPECT_EQ(read_token(file), kToken);
  std::ofstream(file) << "short\n";
  EXPECT_EQ(code(), ErrorCode::InvalidArgument);
  std::ofstream(file) << std::string(kMostTokenBytes + 1, 'x');
  EXPECT_EQ(code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace temper::protocol
