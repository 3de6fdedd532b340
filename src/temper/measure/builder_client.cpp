#include "temper/measure/builder_client.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "temper/protocol/failure.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

using record::FailureKind;

constexpr double kLookForCancellation = 0.05;  // seconds

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

struct BuilderClient::Batch {
  std::vector<protocol::BuildRequest> requests;
  std::vector<protocol::BuildReply> replies;
  std::size_t next = 0, left = 0;
  const std::function<void(std::size_t, const protocol::BuildReply&)>* done = nullptr;
};

BuilderClient::BuilderClient(Spawner& spawner, BuilderOptions options)
    : spawner_(&spawner), options_(std::move(options)) {
  TEMPER_CHECK(options_.count >= 1, "there is a builder");
  slots_.resize(static_cast<std::size_t>(options_.count));
  for (Slot& slot : slots_) slot.worker = Worker::start(*spawner_, options_.command);
}

void BuilderClient::finish(Slot& slot, Batch& batch, protocol::BuildReply reply) {
  const std::size_t index = *slot.request;
  slot.request.reset();
  batch.replies[index] = std::move(reply);
  --batch.left;
  if (*batch.done) (*batch.done)(index, batch.replies[index]);
}

void BuilderClient::abandon(Slot& slot, Batch& batch, FailureKind kind, const std::string& reason) {
  slot.worker.reset();
  protocol::BuildReply reply;
  reply.set_id(batch.requests[*slot.request].id());
  reply.set_failure(protocol::to_message(kind));
  reply.set_reason(reason);
  reply.set_seconds(now_seconds() - slot.since);
  finish(slot, batch, std::move(reply));
}

void BuilderClient::give_work(Slot& slot, Batch& batch) {
  if (!slot.worker) slot.worker = Worker::start(*spawner_, options_.command);
  slot.worker->greet(options_.start_limit_seconds);
  slot.request = batch.next++;
  protocol::Envelope envelope;
  *envelope.mutable_build_request() = batch.requests[*slot.request];
  slot.since = now_seconds();
  try {
    slot.worker->channel().send(envelope, options_.build_limit_seconds);
  } catch (const Error& error) {
    abandon(slot, batch, FailureKind::CompileError, "the builder does not take the candidate: " + error.message());
  }
}

void BuilderClient::collect(Slot& slot, Batch& batch) {
  protocol::Envelope envelope;
  try {
    if (slot.worker->channel().receive(envelope, options_.build_limit_seconds) == protocol::Received::Closed) {
      const Death death = slot.worker->bury();
      const bool no_memory = death.kind == FailureKind::ResourceLimit;
      return abandon(slot, batch, no_memory ? FailureKind::ResourceLimit : FailureKind::CompileError,
                     "the builder " + death.reason);
    }
  } catch (const Error& error) {
    return abandon(slot, batch, FailureKind::CompileError, "the builder sends nonsense: " + error.message());
  }
  if (!envelope.has_build_reply() || envelope.build_reply().id() != batch.requests[*slot.request].id()) {
    return abandon(slot, batch, FailureKind::CompileError, "the builder answers another question");
  }
  finish(slot, batch, std::move(*envelope.mutable_build_reply()));
}

std::vector<protocol::BuildReply> BuilderClient::build(
    std::vector<protocol::BuildRequest> requests, const CancellationToken& cancelled,
    const std::function<void(std::size_t index, const protocol::BuildReply&)>& done) {
  Batch batch{std::move(requests), {}, 0, 0, &done};
  batch.left = batch.requests.size();
  batch.replies.resize(batch.left);
  for (protocol::BuildRequest& request : batch.requests) request.set_id(next_id_++);

  while (batch.left > 0) {
    if (cancelled.requested()) {
      for (Slot& slot : slots_) {
        if (!slot.request) continue;
        slot.worker.reset();
        slot.request.reset();
      }
      break;
    }
    for (Slot& slot : slots_) {
      if (!slot.request && batch.next < batch.requests.size()) give_work(slot, batch);
    }
    std::vector<pollfd> watched;
    std::vector<Slot*> owners;
    double wait = kLookForCancellation;
    for (Slot& slot : slots_) {
      if (!slot.request) continue;
      watched.push_back({slot.worker->channel().fd(), POLLIN, 0});
      owners.push_back(&slot);
      wait = std::min(wait, slot.since + options_.build_limit_seconds - now_seconds());
    }
    const int count = poll(watched.data(), watched.size(), static_cast<int>(std::ceil(std::max(wait, 0.0) * 1000)));
    if (count < 0 && errno != EINTR)
      throw Error(ErrorCode::Io, std::string("cannot wait for builders: ") + std::strerror(errno));
    for (std::size_t i = 0; i < owners.size(); ++i) {
      Slot& slot = *owners[i];
      if (count > 0 && watched[i].revents != 0) {
        collect(slot, batch);
      } else if (now_seconds() - slot.since > options_.build_limit_seconds) {
        abandon(slot, batch, FailureKind::CompileTimeout,
                "took longer than " + std::to_string(options_.build_limit_seconds) + " s");
      }
    }
  }
  return std::move(batch.replies);
}

}  // namespace temper::measure
