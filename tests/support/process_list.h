// Which processes there are.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace temper::testing {

/// Process numbers of the children of `parent`.
inline std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> result;
  std::error_code failed;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream status(entry.path() / "stat");
    const std::string text{std::istreambuf_iterator<char>(status), {}};
    const std::size_t after_name = text.rfind(')');
    if (after_name == std::string::npos) continue;
    std::istringstream fields(text.substr(after_name + 1));
    char state = 0;
    pid_t of = 0;
    if (fields >> state >> of && of == parent) result.push_back(std::stoi(name));
  }
  return result;
}

/// Whether the process is there and no zombie.
inline bool is_alive(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(status), {}};
  const std::size_t after_name = text.rfind(')');
  return after_name != std::string::npos && text.substr(after_name + 2, 1) != "Z";
}

}  // namespace temper::testing
