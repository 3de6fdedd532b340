// Errors as they travel.
#pragma once

#include "temper/protocol/messages.pb.h"
#include "temper/support/error.h"

namespace temper::protocol {

ErrorReply to_message(const Error& error);
/// A code that this version does not know becomes Io: the other side cannot do it, and nobody here can say why.
Error to_error(const ErrorReply& reply);

}  // namespace temper::protocol
