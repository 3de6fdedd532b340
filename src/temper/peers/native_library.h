// A numerical library inside its own process: what `temper-peer` serves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "temper/peers/work.h"

namespace temper::peers {

class NativeLibrary {
 public:
  virtual ~NativeLibrary() = default;
  /// As the library itself reports it.
  virtual std::string version() const = 0;
  /// Takes inputs that passed `check_inputs`; packs constants and moves activations into the layout that the library
  /// likes where the work allows it. Replaces earlier work. Throws Error{Unsupported}.
  virtual void prepare(const PeerWork& work, std::vector<Tensor> inputs) = 0;
  /// One call of the prepared work; nothing else, for it is timed.
  virtual void run() = 0;
  /// The output of the last run, in the work's plain layout.
  virtual Tensor output() = 0;
  /// How long its own threads keep spinning after a run.
  virtual double spin_seconds() const = 0;
};

/// A shared library, opened at run time.
class SharedLibrary {
 public:
  /// Throws Error{NotFound} with the Debian package that holds `file`.
  SharedLibrary(const std::string& file, const std::string& package);
  ~SharedLibrary();
  SharedLibrary(const SharedLibrary&) = delete;
  SharedLibrary& operator=(const SharedLibrary&) = delete;

  /// Throws Error{Version} when the library has no such function.
  template <class Function>
  Function function(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;
  std::string file_;
  void* handle_ = nullptr;
};

/// oneDNN 2.6 or later of version 2: direct convolution, matmul, softmax, layer norm; eltwise and binary post-ops.
std::unique_ptr<NativeLibrary> open_onednn(const std::string& file, int threads);
/// OpenBLAS: sgemm (sgemv for one row); convolution by im2col.
std::unique_ptr<NativeLibrary> open_openblas(const std::string& file, int threads);

}  // namespace temper::peers
