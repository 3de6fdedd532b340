// Loads an artifact into this process and runs it, for tests.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "temper/codegen/codegen.h"
#include "temper/target/artifact_abi.h"

namespace temper::codegen {

class Loaded {
 public:
  explicit Loaded(const Artifact& artifact) {
    const int fd = memfd_create("temper-test", MFD_CLOEXEC);
    EXPECT_EQ(write(fd, artifact.bytes.data(), artifact.bytes.size()), static_cast<ssize_t>(artifact.bytes.size()));
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
    close(fd);
    info_ = static_cast<const temper_artifact*>(dlsym(handle_, TEMPER_ARTIFACT_SYMBOL));
    if (info_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~Loaded() { dlclose(handle_); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;

  const temper_artifact& info() const { return *info_; }

  void prepare(std::span<void* const> buffers) const {
    run({info_->prepare, static_cast<std::size_t>(info_->prepare_count)}, buffers);
  }
  void run(std::span<void* const> buffers) const {
    run({info_->run, static_cast<std::size_t>(info_->run_count)}, buffers);
  }

 private:
  static void run(std::span<const temper_phase> phases, std::span<void* const> buffers) {
    for (const temper_phase& p : phases) {
      const std::size_t bytes = (static_cast<std::size_t>(p.scratch_bytes) + 63) / 64 * 64;
      const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, bytes + 64), &std::free);
      p.fn(buffers.data(), scratch.get(), 0, p.extent);
    }
  }
  void* handle_ = nullptr;
  const temper_artifact* info_ = nullptr;
};

/// 64-byte aligned array.
template <class T>
class Aligned {
 public:
  explicit Aligned(std::size_t n, T value = {})
      : size_(n), data_(static_cast<T*>(std::aligned_alloc(64, (n * sizeof(T) + 127) / 64 * 64)), &std::free) {
    std::fill_n(data_.get(), n, value);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  std::size_t size_;
  std::unique_ptr<T, decltype(&std::free)> data_;
};

}  // namespace temper::codegen
