#include "temper/support/error.h"

#include <cstring>
#include <utility>

namespace temper {

Error::Error(ErrorCode code, std::string what, std::string where, std::string hint)
    : code_(code), message_(std::move(what)), where_(std::move(where)), hint_(std::move(hint)) {
  text_ = message_;
  if (!where_.empty()) text_ += "\n  at: " + where_;
  if (!hint_.empty()) text_ += "\n  hint: " + hint_;
}

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return "invalid_argument";
    case ErrorCode::InvalidModel: return "invalid_model";
    case ErrorCode::Unsupported: return "unsupported";
    case ErrorCode::NotFound: return "not_found";
    case ErrorCode::Io: return "io";
    case ErrorCode::Corrupt: return "corrupt";
    case ErrorCode::Version: return "version";
    case ErrorCode::Busy: return "busy";
    case ErrorCode::Cancelled: return "cancelled";
    case ErrorCode::Internal: return "internal";
  }
  return "internal";
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::InvalidModel:
    case ErrorCode::Unsupported: return 2;
    case ErrorCode::Cancelled: return 130;
    default: return 1;
  }
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  const char* slash = std::strrchr(file, '/');
  throw Error(ErrorCode::Internal, message,
              std::string(slash ? slash + 1 : file) + ":" + std::to_string(line) + " (" + condition + ")",
              "this is a bug in Temper; please report it with the command that led here");
}

}  // namespace temper
