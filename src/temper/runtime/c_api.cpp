#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "temper/runtime.h"
#include "temper/runtime/bundle.h"
#include "temper/runtime/executor.h"
#include "temper/support/error.h"

#ifndef TEMPER_VERSION_TEXT
#error "the build defines TEMPER_VERSION_TEXT"
#endif

static_assert(static_cast<int>(TEMPER_ELEMENT_F32) == TEMPER_F32 &&
                  static_cast<int>(TEMPER_ELEMENT_BOOL) == TEMPER_BOOL,
              "the public element types are those of artifacts");

struct temper_model {
  explicit temper_model(temper::runtime::Executor loaded) : executor(std::move(loaded)) {}
  temper::runtime::Executor executor;
  std::mutex running;
};

namespace {

using temper::Error;
using temper::ErrorCode;

constexpr int kMostThreads = 1024;

/// Per thread, as errno: the one place where a C caller without a `temper_error` can look.
using Message = std::array<char, sizeof(temper_error::message)>;
Message& last_error() {
  thread_local Message message{};
  return message;
}

temper_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return TEMPER_INVALID_ARGUMENT;
    case ErrorCode::InvalidModel: return TEMPER_INVALID_MODEL;
    case ErrorCode::Unsupported: return TEMPER_UNSUPPORTED;
    case ErrorCode::NotFound: return TEMPER_NOT_FOUND;
    case ErrorCode::Io: return TEMPER_IO;
    case ErrorCode::Corrupt: return TEMPER_CORRUPT;
    case ErrorCode::Version: return TEMPER_VERSION;
    case ErrorCode::Busy:
    case ErrorCode::Cancelled:
    case ErrorCode::Internal: return TEMPER_INTERNAL;
  }
  return TEMPER_INTERNAL;
}

temper_status report(temper_error* error, temper_status status, const char* message) noexcept {
  Message& kept = last_error();
  std::strncpy(kept.data(), message, kept.size() - 1);
  if (error != nullptr) {
    error->status = status;
    std::memcpy(error->message, kept.data(), kept.size());
  }
  return status;
}

/// Runs `body` and turns what it throws into a status.
template <class Body>
temper_status guarded(temper_error* error, Body&& body) noexcept {
  try {
    body();
    if (error != nullptr) *error = temper_error{};
    return TEMPER_OK;
  } catch (const Error& e) {
    return report(error, status_of(e.code()), e.what());
  } catch (const std::bad_alloc&) {
    return report(error, TEMPER_INTERNAL, "no memory is left");
  } catch (const std::exception& e) {
    return report(error, TEMPER_INTERNAL, e.what());
  }
}

void require(bool condition, const char* what) {
  if (!condition) throw Error(ErrorCode::InvalidArgument, what);
}

using Numbers = std::vector<std::int32_t> temper::runtime::Plan::*;

temper_status describe(const temper_model* model, Numbers which, std::int32_t index, temper_tensor_info* info) {
  return guarded(nullptr, [&] {
    require(model != nullptr, "the model is NULL");
    require(info != nullptr, "there is nowhere to put the facts: `info` is NULL");
    const std::vector<std::int32_t>& numbers = model->executor.plan().*which;
    require(index >= 0 && static_cast<std::size_t>(index) < numbers.size(), "the model has no tensor of that number");
    const auto& tensor =
        model->executor.plan().tensors[static_cast<std::size_t>(numbers[static_cast<std::size_t>(index)])];
    *info = {tensor.name.c_str(), static_cast<temper_element_type>(tensor.dtype),
             static_cast<std::int32_t>(tensor.shape.size()), tensor.shape.data(), tensor.bytes};
  });
}

std::int32_t count(const temper_model* model, Numbers which) {
  return model == nullptr ? 0 : static_cast<std::int32_t>((model->executor.plan().*which).size());
}

}  // namespace

extern "C" {

temper_model* temper_model_load(const char* path, int threads, temper_error* error) {
  temper_model* model = nullptr;
  guarded(error, [&] {
    require(path != nullptr, "the path is NULL");
    require(threads >= 1 && threads <= kMostThreads, "a model runs on 1 to 1024 threads");
    temper::runtime::ExecutorOptions options;
    options.threads = threads;
    model = new temper_model(temper::runtime::Executor(temper::runtime::load_bundle(path), std::move(options)));
  });
  return model;
}

void temper_model_free(temper_model* model) { delete model; }

int32_t temper_model_input_count(const temper_model* model) { return count(model, &temper::runtime::Plan::inputs); }
int32_t temper_model_output_count(const temper_model* model) { return count(model, &temper::runtime::Plan::outputs); }
temper_status temper_model_input(const temper_model* model, int32_t index, temper_tensor_info* info) {
  return describe(model, &temper::runtime::Plan::inputs, index, info);
}
temper_status temper_model_output(const temper_model* model, int32_t index, temper_tensor_info* info) {
  return describe(model, &temper::runtime::Plan::outputs, index, info);
}

temper_status temper_model_run(temper_model* model, const void* const* inputs, int32_t input_count,
                               void* const* outputs, int32_t output_count, temper_error* error) {
  return guarded(error, [&] {
    require(model != nullptr, "the model is NULL");
    require(input_count >= 0 && output_count >= 0, "a count is negative");
    require(inputs != nullptr || input_count == 0, "the array of inputs is NULL");
    require(outputs != nullptr || output_count == 0, "the array of outputs is NULL");
    const std::span in(inputs, static_cast<std::size_t>(input_count));
    const std::span out(outputs, static_cast<std::size_t>(output_count));
    require(std::ranges::none_of(in, [](const void* p) { return p == nullptr; }), "a pointer to an input is NULL");
    require(std::ranges::none_of(out, [](const void* p) { return p == nullptr; }), "a pointer to an output is NULL");
    const std::scoped_lock lock(model->running);
    model->executor.run(in, out);
  });
}

const char* temper_last_error(void) { return last_error().data(); }

const char* temper_runtime_version(void) { return TEMPER_VERSION_TEXT; }
}
