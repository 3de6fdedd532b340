#include "temper/support/resident_memory.h"

#include <unistd.h>

#include <fstream>

namespace temper {

std::int64_t resident_bytes() {
  std::int64_t size = 0, resident = 0;  // pages
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace temper
