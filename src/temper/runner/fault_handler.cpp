#include "temper/runner/fault_handler.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/subprocess.h"

namespace temper::runner {
namespace {

using protocol::FaultPage;

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
constexpr std::size_t kSignalStackBytes = 64 * 1024;
/// How far below its end a stack may be overrun in one step by a frame that is not touched in order.
constexpr std::uintptr_t kStackReach = std::uintptr_t{64} << 20;

/// The handler of the process. A signal handler cannot be given a context, so this is the one global of the runner.
std::atomic<FaultHandler*> current_handler{nullptr};

/// Appends to a fixed buffer; everything past its end is dropped. Usable in a signal handler.
class Text {
 public:
  Text(char* begin, int bytes) : at_(begin), end_(begin + bytes - 1) {}
  Text& operator<<(std::string_view text) {
    for (const char c : text) {
      if (at_ != end_) *at_++ = c;
    }
    *at_ = '\0';
    return *this;
  }
  Text& hex(std::uintptr_t value) {
    std::array<char, 20> digits;
    const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return *this << "0x" << std::string_view(digits.data(), static_cast<std::size_t>(result.ptr - digits.data()));
  }

 private:
  char* at_;
  char* end_;
};

}  // namespace

FaultHandler::FaultHandler(FaultPage& page, std::int64_t memory_limit) : page_(&page), memory_limit_(memory_limit) {
  FaultHandler* none = nullptr;
  TEMPER_CHECK(current_handler.compare_exchange_strong(none, this), "one fault handler per process");
  struct sigaction action{};
  action.sa_sigaction = [](int signal, siginfo_t* info, void* context) { handle(signal, info, context); };
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

FaultHandler::~FaultHandler() {
  for (const int signal : kSignals) ::signal(signal, SIG_DFL);
  current_handler.store(nullptr);
}

void FaultHandler::watch(std::vector<FaultZone> zones) { zones_ = std::move(zones); }

FaultZone FaultHandler::guard_stack() {
  stack_t stack{};
  TEMPER_CHECK(sigaltstack(nullptr, &stack) == 0, "a thread tells its stack for signals");
  if ((stack.ss_flags & SS_DISABLE) != 0) {
    stack.ss_sp = signal_stacks_.emplace_back(std::make_unique<std::byte[]>(kSignalStackBytes)).get();
    stack.ss_size = kSignalStackBytes;
    stack.ss_flags = 0;
    TEMPER_CHECK(sigaltstack(&stack, nullptr) == 0, "a thread takes a stack for signals");
  }

  pthread_attr_t attributes;
  TEMPER_CHECK(pthread_getattr_np(pthread_self(), &attributes) == 0, "a thread knows its stack");
  void* begin = nullptr;
  std::size_t size = 0, guard = 0;
  pthread_attr_getstack(&attributes, &begin, &size);
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  const auto low = reinterpret_cast<std::uintptr_t>(begin);
  // The first thread's stack grows until its limit and has free space below; the others' stacks begin behind a guard of
  // their own.
  const bool first = getpid() == gettid();
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const GuardedMemory::Zone range =
      first ? GuardedMemory::Zone{low - kStackReach, low + page} : GuardedMemory::Zone{low - guard, low + page};
  return {range, FaultPage::ResourceLimit, "overran its stack of " + std::to_string(size) + " bytes"};
}

void FaultHandler::handle(int signal, void* info, void*) {
  FaultHandler* self = current_handler.load();
  if (self != nullptr && !self->reported_.exchange(true)) {
    const bool has_address = signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
    self->report(signal, has_address ? reinterpret_cast<std::uintptr_t>(static_cast<siginfo_t*>(info)->si_addr) : 0);
  }
  _exit(1);
}

void FaultHandler::report(int signal, std::uintptr_t address) noexcept {
  Text text(page_->text, FaultPage::kTextBytes);
  page_->signal = signal;
  page_->address = address;
  FaultPage::Kind kind = FaultPage::Crash;
  const char* name = sigabbrev_np(signal);
  text << "SIG" << (name == nullptr ? "?" : name);
  if (signal == SIGSEGV || signal == SIGBUS) {
    text << " at address ";
    text.hex(address);
    for (const FaultZone& zone : zones_) {
      if (zone.range.begin <= address && address < zone.range.end) {
        kind = zone.kind;
        text << ": " << zone.text;
        break;
      }
    }
  }
  if (kind == FaultPage::Crash && is_near_memory_limit()) {
    kind = FaultPage::ResourceLimit;
    text << ", with its memory limit all but used up";
  }
  page_->kind.store(kind, std::memory_order_release);
}

bool FaultHandler::is_near_memory_limit() const noexcept {
  if (memory_limit_ == 0) return false;
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 64> buffer{};
  const ssize_t count = read(file, buffer.data(), buffer.size());
  close(file);
  std::int64_t pages = 0;
  if (count <= 0) return false;
  std::from_chars(buffer.data(), buffer.data() + count, pages);
  return pages * sysconf(_SC_PAGESIZE) >= memory_limit_ / 8 * 7;
}

}  // namespace temper::runner
