#include "temper/peers/serve.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "temper/support/error.h"

namespace temper::peers {
namespace {

using SteadyClock = std::chrono::steady_clock;

class Server {
 public:
  explicit Server(const std::function<std::unique_ptr<NativeLibrary>()>& open) : open_(open) {}

  Message answer(Message request) {
    const std::string type = request.header.at("type");
    if (type == "hello") {
      library_ = open_();
      return {{{"version", library_->version()}}, {}};
    }
    if (type == "prepare") return prepare(std::move(request));
    if (type == "run") return run(request.header.at("calls"), request.header.at("warmup"));
    if (type == "outputs") return outputs();
    throw Error(ErrorCode::Corrupt, "Unknown request '" + type + "'");
  }

 private:
  Message prepare(Message request) {
    if (!library_) throw Error(ErrorCode::Corrupt, "A request came before hello");
    prepared_ = has_run_ = false;
    const PeerWork work = work_from_json(request.header.at("work"));
    check_inputs(work, request.tensors);
    library_->prepare(work, std::move(request.tensors));
    prepared_ = true;
    return {nlohmann::json::object(), {}};
  }

  Message run(std::int64_t calls, std::int64_t warmup) {
    if (!prepared_) throw Error(ErrorCode::InvalidArgument, "The peer has no work yet");
    for (std::int64_t i = 0; i < warmup; ++i) library_->run();
    const auto start = SteadyClock::now();
    for (std::int64_t i = 0; i < calls; ++i) library_->run();
    const auto stop = SteadyClock::now();
    has_run_ = has_run_ || calls + warmup > 0;
    std::this_thread::sleep_for(std::chrono::duration<double>(library_->spin_seconds()));
    return {{{"nanoseconds", std::chrono::duration_cast<std::chrono::nanoseconds>(stop - start).count()}}, {}};
  }

  Message outputs() {
    if (!has_run_) throw Error(ErrorCode::InvalidArgument, "The peer has not run yet");
    Message reply{nlohmann::json::object(), {}};
    reply.tensors.push_back(library_->output());
    return reply;
  }

  const std::function<std::unique_ptr<NativeLibrary>()>& open_;
  std::unique_ptr<NativeLibrary> library_;
  bool prepared_ = false, has_run_ = false;
};

Message failure(const Error& error) {
  return {{{"error",
            {{"code", to_string(error.code())},
             {"message", error.message()},
             {"where", error.where()},
             {"hint", error.hint()}}}},
          {}};
}

}  // namespace

void serve(const Channel& channel, const std::function<std::unique_ptr<NativeLibrary>()>& open) {
  Server server(open);
  while (true) {
    Message request;
    try {
      request = channel.receive(-1);
    } catch (const Error&) {
      return;  // the parent has gone, or speaks something else
    }
    Message reply;
    try {
      reply = server.answer(std::move(request));
    } catch (const Error& error) {
      reply = failure(error);
    } catch (const nlohmann::json::exception& error) {
      reply = failure(Error(ErrorCode::Corrupt, error.what()));
    } catch (const std::exception& error) {
      reply = failure(Error(ErrorCode::Internal, error.what()));
    }
    channel.send(reply, -1);
  }
}

void exit_with_parent(int fd) {
  std::thread([fd] {
    pollfd entry{fd, 0, 0};  // only the hang-up, which is always reported
    while (::poll(&entry, 1, -1) < 0 && errno == EINTR) {
    }
    ::_exit(0);
  }).detach();
}

}  // namespace temper::peers
