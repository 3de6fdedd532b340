#include "temper/protocol/token.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

constexpr std::size_t kMagicBytes = 4;
/// Magic, length, the token and zeros.
using Frame = std::array<char, kMagicBytes + sizeof(std::uint32_t) + kMostTokenBytes>;

Frame frame_of(const std::string& token) {
  TEMPER_CHECK(token.size() <= kMostTokenBytes, "tokens are checked before they are used");
  Frame frame{'T', 'P', 'R', 'A'};
  const auto length = static_cast<std::uint32_t>(token.size());
  std::memcpy(frame.data() + kMagicBytes, &length, sizeof length);
  std::memcpy(frame.data() + kMagicBytes + sizeof length, token.data(), token.size());
  return frame;
}

}  // namespace

void check_token(const std::string& token, const std::string& where) {
  if (token.size() >= kLeastTokenBytes && token.size() <= kMostTokenBytes) return;
  throw Error(ErrorCode::InvalidArgument,
              "a token has " + std::to_string(kLeastTokenBytes) + " to " + std::to_string(kMostTokenBytes) +
                  " bytes, this one has " + std::to_string(token.size()),
              where, "make one with: head -c 24 /dev/urandom | base64");
}

std::string read_token(const std::filesystem::path& file) {
  struct stat status{};
  if (stat(file.c_str(), &status) != 0) {
    throw Error(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                std::string("cannot read the token: ") + std::strerror(errno), file.string(),
                "make one with: (umask 077; head -c 24 /dev/urandom | base64 > FILE)");
  }
  if (S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw Error(ErrorCode::InvalidArgument, "other users may use the file of the token", file.string(),
                "chmod 600 " + file.string());
  }
  std::ifstream stream(file, std::ios::binary);
  std::string token(4 * kMostTokenBytes, '\0');
  stream.read(token.data(), static_cast<std::streamsize>(token.size()));
  if (stream.bad() || (!stream && !stream.eof()))
    throw Error(ErrorCode::Io, "cannot read the token", file.string(), "check the file's permissions");
  token.resize(static_cast<std::size_t>(stream.gcount()));
  while (!token.empty() && std::strchr(" \t\r\n", token.back()) != nullptr) token.pop_back();
  check_token(token, file.string());
  return token;
}

void send_token(int socket, const std::string& token, Timeout timeout) {
  send_all(socket, frame_of(token), Deadline(timeout));
}

bool receive_token(int socket, const std::string& expected, Timeout timeout) {
  const Frame right = frame_of(expected);
  Frame given{};
  if (!receive_all(socket, given, Deadline(timeout))) return false;
  // Every byte is looked at, whatever the ones before it were; `volatile` keeps a compiler from seeing a shorter way.
  volatile unsigned difference = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const auto a = static_cast<unsigned char>(right[i]), b = static_cast<unsigned char>(given[i]);
    difference = difference | static_cast<unsigned>(a ^ b);
  }
  return difference == 0;
}

}  // namespace temper::protocol
