#include "temper/codegen/llvm/link.h"

#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "temper/codegen/llvm/process_state.h"
#include "temper/support/error.h"

LLD_HAS_DRIVER(elf)

namespace temper::codegen {
namespace {

[[noreturn]] void fail(const char* call) {
  throw Error(ErrorCode::Io, std::string("cannot link in memory: ") + std::strerror(errno), call,
              "is there memory left, and is /proc mounted?");
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(number_); }
  void reset() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

void write_all(int descriptor, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write");
    done += static_cast<std::size_t>(n);
  }
}

/// Reads until every writer has closed. An error ends it early; the loader would refuse what is left, so the caller
/// checks `errno`.
int read_all(int descriptor, std::vector<std::byte>& bytes) {
  constexpr std::size_t kChunk = 1 << 16;
  std::size_t done = 0;
  for (;;) {
    bytes.resize(done + kChunk);
    const ssize_t n = read(descriptor, bytes.data() + done, kChunk);
    if (n < 0 && errno == EINTR) continue;
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
    if (n <= 0) {
      bytes.resize(done);
      return n < 0 ? errno : 0;
    }
  }
}

}  // namespace

std::mutex& process_state_mutex() {
  static std::mutex mutex;
  return mutex;
}

Artifact link_shared_object(const std::string& object) {
  const Descriptor input(memfd_create("temper-object", MFD_CLOEXEC));
  if (input.get() < 0) fail("memfd_create");
  write_all(input.get(), object);
  // The linker replaces a regular file by another one with a rename, which a nameless file cannot do; into a pipe it
  // writes.
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  const Descriptor reading(ends[0]);
  Descriptor writing(ends[1]);

  const std::string from = input.path(), to = writing.path();
  const char* arguments[] = {"ld.lld",          "-shared",
                             "--threads=1",     "--no-mmap-output-file",
                             "--no-undefined",  "--hash-style=gnu",
                             "--build-id=none", "-z",
                             "noseparate-code", "-z",
                             "norelro",         "-o",
                             to.c_str(),        from.c_str()};
  std::string messages;
  llvm::raw_string_ostream out(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};

  Artifact artifact;
  int read_error = 0;
  const std::lock_guard<std::mutex> lock(process_state_mutex());
  std::thread reader([&] { read_error = read_all(reading.get(), artifact.bytes); });
  const lld::Result result = lld::lldMain(arguments, out, out, drivers);
  writing.reset();
  reader.join();
  if (result.retCode != 0) throw Error(ErrorCode::Internal, "the linker refused generated code: " + out.str(), "lld");
  TEMPER_CHECK(result.canRunAgain, "the linker cannot run again");
  if (read_error != 0) {
    errno = read_error;
    fail("read");
  }
  return artifact;
}

}  // namespace temper::codegen
