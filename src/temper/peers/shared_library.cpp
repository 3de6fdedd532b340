#include <dlfcn.h>

#include "temper/peers/native_library.h"
#include "temper/support/error.h"

namespace temper::peers {

SharedLibrary::SharedLibrary(const std::string& file, const std::string& package) : file_(file) {
  handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* reason = ::dlerror();
    throw Error(ErrorCode::NotFound, "Cannot load the library of a peer", reason != nullptr ? reason : file,
                "apt-get install " + package);
  }
}

SharedLibrary::~SharedLibrary() { ::dlclose(handle_); }

void* SharedLibrary::symbol(const char* name) const {
  void* address = ::dlsym(handle_, name);
  if (address == nullptr) {
    throw Error(ErrorCode::Version, std::string("The library has no function '") + name + "'", file_,
                "install the version that docs/dependencies.md names");
  }
  return address;
}

}  // namespace temper::peers
