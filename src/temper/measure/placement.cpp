#include "temper/measure/placement.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "temper/runtime/thread_pool.h"
#include "temper/support/error.h"

namespace temper::measure {
namespace {

/// The lowest CPU of the core that `cpu` belongs to; `cpu` itself where the system does not say.
int core_of_cpu(int cpu) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  int first = cpu;
  file >> first;
  return file ? first : cpu;
}

}  // namespace

std::vector<int> spread_over_cores(const std::vector<int>& allowed, const std::vector<int>& core_of, int threads) {
  TEMPER_CHECK(allowed.size() == core_of.size(), "one core for each CPU");
  std::map<int, int> seen;
  std::vector<std::pair<int, int>> order;  // how many of its core came before, CPU counted from the end
  for (std::size_t i = allowed.size(); i-- > 0;) order.emplace_back(seen[core_of[i]]++, allowed[i]);
  std::ranges::stable_sort(order, {}, &std::pair<int, int>::first);
  std::vector<int> cpus;
  for (const auto& [rank, cpu] : order) {
    if (static_cast<int>(cpus.size()) < threads) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> timing_cpus(int threads) {
  const std::vector<int> allowed = runtime::allowed_cpus();
  std::vector<int> cores;
  for (const int cpu : allowed) cores.push_back(core_of_cpu(cpu));
  return spread_over_cores(allowed, cores, threads);
}

}  // namespace temper::measure
