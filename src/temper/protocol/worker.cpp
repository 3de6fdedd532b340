#include "temper/protocol/worker.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "temper/support/error.h"

namespace temper::protocol {
namespace {

[[noreturn]] void io_error(const std::string& what) { throw Error(ErrorCode::Io, what + ": " + std::strerror(errno)); }

void* map_page(int fd) {
  void* memory = mmap(nullptr, sizeof(FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) io_error("cannot share a page with a worker");
  return memory;
}

}  // namespace

SharedFaultPage SharedFaultPage::create() {
  UniqueFd fd(memfd_create("temper-fault", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), sizeof(FaultPage)) != 0) io_error("cannot share a page with a worker");
  auto* page = new (map_page(fd.get())) FaultPage;
  return SharedFaultPage(std::move(fd), page);
}

SharedFaultPage SharedFaultPage::open(UniqueFd fd) {
  auto* page = static_cast<FaultPage*>(map_page(fd.get()));
  return SharedFaultPage(std::move(fd), page);
}

SharedFaultPage::SharedFaultPage(UniqueFd fd, FaultPage* page) : fd_(std::move(fd)), page_(page) {}
SharedFaultPage::SharedFaultPage(SharedFaultPage&& other) noexcept
    : fd_(std::move(other.fd_)), page_(std::exchange(other.page_, nullptr)) {}
SharedFaultPage& SharedFaultPage::operator=(SharedFaultPage&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(page_, other.page_);
  return *this;
}
SharedFaultPage::~SharedFaultPage() {
  if (page_ != nullptr) munmap(page_, sizeof(FaultPage));
}

void die_with_parent(pid_t parent) {
  // The parent may have died before the request took effect: then this process has another parent by now.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(0);
}

}  // namespace temper::protocol
