// Each case in a process of its own.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "conformance/suite.h"
#include "temper/support/error.h"
#include "temper/support/unique_fd.h"

namespace temper::conformance {
namespace {

using Clock = std::chrono::steady_clock;

nlohmann::json to_json(const Result& r) {
  return {{"outcome", static_cast<int>(r.outcome)},     {"reason", r.reason}, {"detail", r.detail},
          {"difference", std::to_string(r.difference)}, {"bound", r.bound},   {"generated", r.generated}};
}
Result from_json(const nlohmann::json& j) {
  return {static_cast<Outcome>(j.at("outcome").get<int>()), j.at("reason"), j.at("detail"),
          std::stod(j.at("difference").get<std::string>()), j.at("bound"),  j.at("generated")};
}

struct Child {
  std::size_t number = 0;
  pid_t pid = -1;
  UniqueFd pipe;
  std::string text;
  Clock::time_point deadline;
};

Child start(const Case& test, std::size_t number, int seconds) {
  int ends[2];
  if (pipe(ends) != 0) throw Error(ErrorCode::Io, std::string("no pipe: ") + std::strerror(errno), test.name);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) throw Error(ErrorCode::Io, std::string("no process: ") + std::strerror(errno), test.name);
  if (pid == 0) {
    Result result;
    result.outcome = Outcome::Failed;
    try {
      result = run_case(test);
    } catch (const std::exception& error) {
      result.reason = error.what();
    }
    const std::string text = to_json(result).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = write(write_end.get(), text.data() + at, text.size() - at);
      if (written <= 0) break;
      at += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  return {number, pid, std::move(read_end), {}, Clock::now() + std::chrono::seconds(seconds)};
}

/// The result of a child that has closed its pipe, or was killed.
Result finish(Child& child, bool timed_out) {
  int status = 0;
  waitpid(child.pid, &status, 0);
  const nlohmann::json object = nlohmann::json::parse(child.text, nullptr, false);
  if (!timed_out && object.is_object()) return from_json(object);
  Result result;
  result.reason = timed_out ? "took too long" : "ended without a result";
  if (!timed_out && WIFSIGNALED(status)) result.reason = "signal " + std::to_string(WTERMSIG(status));
  return result;
}

}  // namespace

std::vector<Result> run_isolated(std::span<const Case> cases, int jobs, int seconds,
                                 const std::function<void(const Case&, const Result&)>& done) {
  std::vector<Result> results(cases.size());
  std::vector<Child> running;
  std::size_t next = 0;
  while (next < cases.size() || !running.empty()) {
    while (next < cases.size() && running.size() < static_cast<std::size_t>(jobs)) {
      running.push_back(start(cases[next], next, seconds));
      ++next;
    }
    std::vector<pollfd> waiting;
    for (const Child& child : running) waiting.push_back({child.pipe.get(), POLLIN, 0});
    poll(waiting.data(), waiting.size(), 1000);
    for (std::size_t i = running.size(); i-- > 0;) {
      Child& child = running[i];
      const bool timed_out = Clock::now() > child.deadline;
      bool ended = timed_out;
      if (timed_out) kill(child.pid, SIGKILL);
      if (!timed_out && waiting[i].revents != 0) {
        char bytes[4096];
        const ssize_t count = read(child.pipe.get(), bytes, sizeof bytes);
        if (count > 0) child.text.append(bytes, static_cast<std::size_t>(count));
        ended = count <= 0;
      }
      if (!ended) continue;
      results[child.number] = finish(child, timed_out);
      if (done) done(cases[child.number], results[child.number]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return results;
}

}  // namespace temper::conformance
