#include "temper/peers/onednn_api.h"

#include "temper/support/error.h"

namespace temper::peers {

OneDnnApi::OneDnnApi(const SharedLibrary& library) {
#define TEMPER_RESOLVE(name) this->name = library.function<decltype(&dnnl_##name)>("dnnl_" #name);
  TEMPER_RESOLVE(version)
  const dnnl_version_t* found = this->version();
  if (found->major != 2 || found->minor < 6) {
    throw Error(
        ErrorCode::Version,
        "oneDNN " + std::to_string(found->major) + "." + std::to_string(found->minor) + " is not of the 2.6 line",
        "oneDNN", "apt-get install libdnnl2 (2.6.3 on Debian 12)");
  }
  TEMPER_ONEDNN_FUNCTIONS(TEMPER_RESOLVE)
#undef TEMPER_RESOLVE
}

void check_status(dnnl_status_t status, const std::string& what) {
  if (status == dnnl_success) return;
  if (status == dnnl_unimplemented) {
    throw Error(ErrorCode::Unsupported, "oneDNN has no implementation of this work", what);
  }
  throw Error(ErrorCode::Internal, "oneDNN returned status " + std::to_string(static_cast<int>(status)), what);
}

}  // namespace temper::peers
