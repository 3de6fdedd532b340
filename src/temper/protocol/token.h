// The secret that lets a tuner in, sent before anything else on a connection to a remote runner. It has a form of its
// own, of one size, which no version of the protocol changes: nothing of a stranger's bytes is interpreted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "temper/protocol/transfer.h"

namespace temper::protocol {

inline constexpr std::size_t kLeastTokenBytes = 16, kMostTokenBytes = 256;

/// The file's content without what white space ends it. Throws Error{NotFound}, Error{Io}, and Error{InvalidArgument}
/// when other users may read the file, or as `check_token`.
std::string read_token(const std::filesystem::path& file);

/// Throws Error{InvalidArgument} for a token that is too short or too long; `where` names its source.
void check_token(const std::string& token, const std::string& where);

/// Sends the token; an empty one says that there is none. Throws Error{Io}, Error{Busy}.
void send_token(int socket, const std::string& token, Timeout timeout);

/// Whether what arrives is exactly `expected`; takes as long for every wrong token. False also when the connection
/// ends. Throws Error{Io}, Error{Busy} when it does not arrive in time.
bool receive_token(int socket, const std::string& expected, Timeout timeout);

}  // namespace temper::protocol
