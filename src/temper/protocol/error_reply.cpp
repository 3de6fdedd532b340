#include "temper/protocol/error_reply.h"

namespace temper::protocol {

ErrorReply to_message(const Error& error) {
  ErrorReply reply;
  reply.set_code(std::string(to_string(error.code())));
  reply.set_message(error.message());
  reply.set_where(error.where());
  reply.set_hint(error.hint());
  return reply;
}

Error to_error(const ErrorReply& reply) {
  ErrorCode code = ErrorCode::Io;
  for (const ErrorCode known :
       {ErrorCode::InvalidArgument, ErrorCode::InvalidModel, ErrorCode::Unsupported, ErrorCode::NotFound, ErrorCode::Io,
        ErrorCode::Corrupt, ErrorCode::Version, ErrorCode::Busy, ErrorCode::Cancelled, ErrorCode::Internal}) {
    if (to_string(known) == reply.code()) code = known;
  }
  return {code, reply.message(), reply.where(), reply.hint()};
}

}  // namespace temper::protocol
