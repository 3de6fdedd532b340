#include "temper/protocol/handshake.h"

#include <algorithm>

#include "temper/protocol/error_reply.h"
#include "temper/support/error.h"

#ifndef TEMPER_VERSION_TEXT
#error "the build defines TEMPER_VERSION_TEXT"
#endif

namespace temper::protocol {
namespace {

std::string range(std::uint32_t oldest, std::uint32_t newest) {
  return oldest == newest ? std::to_string(oldest) : std::to_string(oldest) + " to " + std::to_string(newest);
}

}  // namespace

Peer shake_hands(Channel& channel, const std::string& role, Timeout timeout, Versions versions) {
  Envelope envelope;
  Hello& mine = *envelope.mutable_hello();
  mine.set_oldest_version(versions.oldest);
  mine.set_newest_version(versions.newest);
  mine.set_role(role);
  mine.set_temper_version(TEMPER_VERSION_TEXT);
  channel.send(envelope, timeout);
  switch (channel.receive(envelope, timeout)) {
    case Received::Message: break;
    case Received::Closed: throw Error(ErrorCode::Io, "the other process ended before it said hello");
    case Received::TimedOut: throw Error(ErrorCode::Busy, "the other process does not say hello");
  }
  if (envelope.has_error_reply()) throw to_error(envelope.error_reply());
  if (!envelope.has_hello()) throw Error(ErrorCode::Corrupt, "the other process did not say hello first");
  const Hello& other = envelope.hello();
  const std::uint32_t version = std::min(versions.newest, other.newest_version());
  if (version < std::max(versions.oldest, other.oldest_version())) {
    throw Error(ErrorCode::Version,
                "the " + other.role() + " speaks protocol version " +
                    range(other.oldest_version(), other.newest_version()) + ", this " + role + " speaks " +
                    range(versions.oldest, versions.newest),
                {}, "install both from the same version of Temper");
  }
  return {version, other.role(), other.temper_version()};
}

}  // namespace temper::protocol
