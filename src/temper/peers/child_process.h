// A child process at the other end of a channel: started with a clean environment on given cores, killed with its
// owner.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "temper/peers/message.h"

namespace temper::peers {

struct ChildCommand {
  std::filesystem::path executable;
  std::vector<std::string> arguments;              ///< without the executable; the channel is the child's descriptor 3
  std::vector<std::string> dropped_prefixes;       ///< environment variables that start so are not inherited
  std::map<std::string, std::string> environment;  ///< set on top
  std::vector<int> cores;                          ///< the child may run on these alone; empty: as its parent
};

/// Its standard output and error are kept in memory, for messages. A child that notices its parent's end exits by
/// itself
/// (`serve` and the Python peer watch the channel); the destructor kills it at once.
class ChildProcess {
 public:
  /// Throws Error{NotFound} when the executable is not there, Error{Io} when the system refuses.
  explicit ChildProcess(const ChildCommand& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  const Channel& channel() const noexcept { return channel_; }
  pid_t pid() const noexcept { return pid_; }
  /// Kills the child if it still runs, waits for it, and says how it ended and what it printed last.
  std::string end_and_describe();

 private:
  Channel channel_{-1};
  int output_fd_ = -1;
  pid_t pid_ = -1;
  int status_ = 0;
  bool reaped_ = false;
};

/// The first `count` cores that the calling thread may use. Throws Error{InvalidArgument} when there are fewer.
std::vector<int> first_cores(int count);

}  // namespace temper::peers
