#include "temper/runtime/artifact_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "temper/runtime/memory.h"
#include "temper/support/error.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace temper::runtime {
namespace {

[[noreturn]] void corrupt(const std::string& why) {
  throw Error(ErrorCode::Corrupt, "not a loadable artifact: " + why, {}, "build it again");
}

UniqueFd memory_file(std::span<const std::byte> bytes) {
  UniqueFd file(memfd_create("temper-artifact", MFD_CLOEXEC | MFD_EXEC));
  if (!file && errno == EINVAL) file.reset(memfd_create("temper-artifact", MFD_CLOEXEC));  // kernels before 6.3
  if (!file) throw Error(ErrorCode::Io, std::string("cannot make an in-memory file: ") + std::strerror(errno));
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw Error(ErrorCode::Io, std::string("cannot fill an in-memory file: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return file;
}

/// The loader trusts what it maps; refuse at least what is cut short or of another kind before it does.
void check_elf(std::span<const std::byte> bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) corrupt("shorter than an ELF header");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) corrupt("no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 || header.e_type != ET_DYN) {
    corrupt("no x86-64 shared object");
  }
  const auto ends_inside = [&](std::uint64_t offset, std::uint64_t size) {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  };
  if (header.e_phentsize != sizeof(Elf64_Phdr) ||
      !ends_inside(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr))) {
    corrupt("its program headers are cut short");
  }
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + static_cast<std::size_t>(i) * sizeof segment, sizeof segment);
    if (segment.p_type == PT_LOAD && !ends_inside(segment.p_offset, segment.p_filesz))
      corrupt("a segment is cut short");
  }
}

void check_phases(const temper_phase* phases, int count, const char* entry) {
  if (count < 0 || (count > 0 && phases == nullptr)) corrupt(std::string("its ") + entry + " phases are malformed");
  for (int i = 0; i < count; ++i) {
    if (phases[i].fn == nullptr || phases[i].extent < 1 || phases[i].scratch_bytes < 0) {
      corrupt(std::string(entry) + " phase " + std::to_string(i) + " is malformed");
    }
  }
}

void check_description(const temper_artifact& artifact) {
  if (artifact.magic != TEMPER_ARTIFACT_MAGIC) corrupt("wrong magic number");
  if (artifact.abi_version != TEMPER_ARTIFACT_ABI_VERSION) {
    throw Error(ErrorCode::Version,
                "the artifact speaks interface version " + std::to_string(artifact.abi_version) +
                    ", this Temper speaks " + std::to_string(TEMPER_ARTIFACT_ABI_VERSION),
                {}, "build it again with this Temper");
  }
  if (artifact.buffer_count < 0 || (artifact.buffer_count > 0 && artifact.buffers == nullptr)) {
    corrupt("its buffers are malformed");
  }
  for (int i = 0; i < artifact.buffer_count; ++i) {
    const temper_buffer& buffer = artifact.buffers[i];
    if (buffer.name == nullptr || buffer.bytes < 0 || buffer.role < TEMPER_INPUT || buffer.role > TEMPER_WORKSPACE ||
        buffer.dtype < TEMPER_F32 || buffer.dtype > TEMPER_BOOL) {
      corrupt("buffer " + std::to_string(i) + " is malformed");
    }
  }
  check_phases(artifact.prepare, artifact.prepare_count, "prepare");
  check_phases(artifact.run, artifact.run_count, "run");
}

}  // namespace

ArtifactImage ArtifactImage::load(std::span<const std::byte> bytes) {
  check_elf(bytes);
  UniqueFd file = memory_file(bytes);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    corrupt(reason == nullptr ? "the loader gave no reason" : reason);
  }
  const auto* artifact = static_cast<const temper_artifact*>(dlsym(handle, TEMPER_ARTIFACT_SYMBOL));
  ArtifactImage image(std::move(file), handle, artifact);
  if (artifact == nullptr) corrupt("it exports no " TEMPER_ARTIFACT_SYMBOL);
  check_description(*artifact);
  return image;
}

ArtifactImage::ArtifactImage(ArtifactImage&& other) noexcept
    : file_(std::move(other.file_)),
      handle_(std::exchange(other.handle_, nullptr)),
      artifact_(std::exchange(other.artifact_, nullptr)) {}

ArtifactImage& ArtifactImage::operator=(ArtifactImage&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(handle_, other.handle_);
  std::swap(artifact_, other.artifact_);
  return *this;
}

ArtifactImage::~ArtifactImage() {
  if (handle_ != nullptr) dlclose(handle_);
}

std::span<const temper_buffer> ArtifactImage::buffers() const {
  return {artifact_->buffers, static_cast<std::size_t>(artifact_->buffer_count)};
}

std::span<const temper_phase> ArtifactImage::prepare() const {
  return {artifact_->prepare, static_cast<std::size_t>(artifact_->prepare_count)};
}

std::span<const temper_phase> ArtifactImage::run() const {
  return {artifact_->run, static_cast<std::size_t>(artifact_->run_count)};
}

std::int64_t ArtifactImage::scratch_bytes() const {
  std::int64_t largest = 0;
  for (const auto phases : {prepare(), run()}) {
    for (const temper_phase& phase : phases) largest = std::max(largest, phase.scratch_bytes);
  }
  return largest;
}

int ArtifactImage::find_buffer(std::string_view name) const {
  const auto all = buffers();
  const auto found = std::ranges::find_if(all, [&](const temper_buffer& buffer) { return buffer.name == name; });
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

}  // namespace temper::runtime
