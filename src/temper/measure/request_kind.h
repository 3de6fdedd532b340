// Where requests and replies of each kind lie in an Envelope.
#pragma once

#include "temper/protocol/messages.pb.h"

namespace temper::measure {

inline void put(protocol::Envelope& envelope, const protocol::MeasureRequest& request) {
  *envelope.mutable_measure_request() = request;
}
inline void put(protocol::Envelope& envelope, const protocol::RaceRequest& request) {
  *envelope.mutable_race_request() = request;
}
/// The reply to a request of that kind; null when it is none.
inline protocol::MeasureReply* get(protocol::Envelope& envelope, const protocol::MeasureRequest&) {
  return envelope.has_measure_reply() ? envelope.mutable_measure_reply() : nullptr;
}
inline protocol::RaceReply* get(protocol::Envelope& envelope, const protocol::RaceRequest&) {
  return envelope.has_race_reply() ? envelope.mutable_race_reply() : nullptr;
}

}  // namespace temper::measure
