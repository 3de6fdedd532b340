// The first exchange on a channel: both sides say which versions they speak and agree on the newest common one.
#pragma once

#include <cstdint>
#include <string>

#include "temper/protocol/channel.h"

namespace temper::protocol {

struct Versions {
  std::uint32_t oldest = 1, newest = 1;
};
/// What this Temper speaks.
inline constexpr Versions kVersions{1, 1};

struct Peer {
  std::uint32_t version = 0;  ///< agreed on
  std::string role, temper_version;
};

/// Sends Hello, awaits the other's. Throws Error{Version} that names both ranges when they have nothing in common,
/// Error{Corrupt} when the other side says something else first, Error{Io} when it closes, Error{Busy} when it is
/// silent, and the error that the other side gives instead.
Peer shake_hands(Channel& channel, const std::string& role, Timeout timeout, Versions versions = kVersions);

}  // namespace temper::protocol
