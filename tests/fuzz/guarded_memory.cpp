#include "guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <new>

namespace temper::fuzz {

namespace {

constexpr std::byte kPattern{0xa5};

// A signal handler can only reach what has static storage.
sigjmp_buf resume_at;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_fault(int signal) { siglongjmp(resume_at, signal); }

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes) : size_(bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t inner = (bytes + page - 1) / page * page + (bytes == 0 ? page : 0);
  whole_size_ = inner + 2 * page;
  void* mapped = mmap(nullptr, whole_size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  whole_ = static_cast<std::byte*>(mapped);
  if (mprotect(whole_ + page, inner, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  std::memset(whole_ + page, std::to_integer<int>(kPattern), inner);
  data_ = whole_ + page + (inner - bytes) / 64 * 64;
}

GuardedMemory::~GuardedMemory() {
  if (whole_ != nullptr) munmap(whole_, whole_size_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : whole_(other.whole_), whole_size_(other.whole_size_), data_(other.data_), size_(other.size_) {
  other.whole_ = nullptr;
}

bool GuardedMemory::intact() const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const std::byte* at = whole_ + page; at < whole_ + whole_size_ - page; ++at) {
    if ((at < data_ || at >= data_ + size_) && *at != kPattern) return false;
  }
  return true;
}

int run_trapping_faults(void (*action)(void*), void* argument) {
  struct sigaction handler{};
  handler.sa_handler = on_fault;
  handler.sa_flags = SA_NODEFER;
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction before[4];
  for (std::size_t i = 0; i < 4; ++i) sigaction(signals[i], &handler, &before[i]);
  const int signal = sigsetjmp(resume_at, 1);
  if (signal == 0) action(argument);
  for (std::size_t i = 0; i < 4; ++i) sigaction(signals[i], &before[i], nullptr);
  return signal;
}

}  // namespace temper::fuzz
