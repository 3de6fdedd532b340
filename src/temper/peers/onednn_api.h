// oneDNN's C API, version 2, resolved at run time; its header is used for types alone.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <string>
#include <utility>

#include "temper/peers/native_library.h"

namespace temper::peers {

/// Every function of oneDNN that is used here.
#define TEMPER_ONEDNN_FUNCTIONS(use)                                                                                  \
  use(version) use(engine_create) use(engine_destroy) use(stream_create) use(stream_wait) use(stream_destroy)         \
      use(memory_desc_init_by_tag) use(memory_desc_equal) use(memory_create) use(memory_destroy)                      \
          use(memory_get_data_handle) use(dilated_convolution_forward_desc_init) use(deconvolution_forward_desc_init) \
              use(matmul_desc_init) use(softmax_v2_forward_desc_init) use(layer_normalization_forward_desc_init)      \
                  use(primitive_attr_create) use(primitive_attr_destroy) use(primitive_attr_set_post_ops)             \
                      use(post_ops_create) use(post_ops_destroy) use(post_ops_append_eltwise)                         \
                          use(post_ops_append_binary) use(primitive_desc_create) use(primitive_desc_query)            \
                              use(primitive_desc_query_md) use(primitive_desc_destroy) use(primitive_create)          \
                                  use(primitive_execute) use(primitive_destroy) use(reorder_primitive_desc_create)

struct OneDnnApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declared name takes none
#define TEMPER_DECLARE(name) decltype(&dnnl_##name) name = nullptr;
  TEMPER_ONEDNN_FUNCTIONS(TEMPER_DECLARE)
#undef TEMPER_DECLARE

  /// Throws Error{Version} when a function is missing or the library is not of version 2, at least 2.6.
  explicit OneDnnApi(const SharedLibrary& library);
};

/// Throws Error{Unsupported} for dnnl_unimplemented, Error{Internal} for any other status but success.
void check_status(dnnl_status_t status, const std::string& what);

/// Owns one object of the C API.
template <class Object>
class OneDnnHandle {
 public:
  using Destroy = dnnl_status_t (*)(Object);
  OneDnnHandle() = default;
  OneDnnHandle(Object object, Destroy destroy) : object_(object), destroy_(destroy) {}
  OneDnnHandle(OneDnnHandle&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), destroy_(other.destroy_) {}
  OneDnnHandle& operator=(OneDnnHandle&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  OneDnnHandle(const OneDnnHandle&) = delete;
  OneDnnHandle& operator=(const OneDnnHandle&) = delete;
  ~OneDnnHandle() {
    if (object_ != nullptr) destroy_(object_);
  }
  Object get() const { return object_; }

 private:
  Object object_ = nullptr;
  Destroy destroy_ = nullptr;
};

}  // namespace temper::peers
