#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>

#include "temper/peers/native_library.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

// The part of the CBLAS interface that is used, written out: OpenBLAS needs no header then. Integers are 32 bits in
// Debian's library (not the ILP64 one, whose name ends in 64).
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;
constexpr int kTranspose = 112;
using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda,
                       const float* b, int ldb, float beta, float* c, int ldc);
using Sgemv = void (*)(int order, int trans_a, int rows, int cols, float alpha, const float* a, int lda, const float* x,
                       int incx, float beta, float* y, int incy);

struct Free {
  void operator()(float* pointer) const { ::operator delete[](pointer, std::align_val_t{64}); }
};
using Floats = std::unique_ptr<float[], Free>;
Floats floats(std::int64_t count) {
  return Floats(new (std::align_val_t{64}) float[static_cast<std::size_t>(std::max<std::int64_t>(count, 1))]());
}
Floats floats_of(const Tensor& tensor) {
  Floats result = floats(tensor.elements());
  std::ranges::copy(tensor.as_f32(), result.get());
  return result;
}

int narrow(std::int64_t value) { return static_cast<int>(value); }  // work fields are below 2^31

class OpenBlas final : public NativeLibrary {
 public:
  OpenBlas(const std::string& file, int threads) : threads_(threads), library_(file, "libopenblas0-pthread") {
    sgemm_ = library_.function<Sgemm>("cblas_sgemm");
    sgemv_ = library_.function<Sgemv>("cblas_sgemv");
    config_ = library_.function<char* (*)()>("openblas_get_config");
    core_ = library_.function<char* (*)()>("openblas_get_corename");
    library_.function<void (*)(int)>("openblas_set_num_threads")(threads);
  }

  /// "0.3.21 (SkylakeX)": the kernels chosen decide its speed.
  std::string version() const override {
    constexpr std::string_view kPrefix = "OpenBLAS ";
    std::string text = config_();
    if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
    return text.substr(0, text.find(' ')) + " (" + core_() + ")";
  }

  void prepare(const PeerWork& work, std::vector<Tensor> inputs) override {
    if (!work.epilogue.empty()) throw Error(ErrorCode::Unsupported, "OpenBLAS has no epilogue", "epilogue");
    if (work.op == "conv2d" && work.layout == Layout::Nhwc) {
      throw Error(ErrorCode::Unsupported, "Convolution through OpenBLAS is by NCHW", "layout");
    }
    if (work.op == "conv2d") {
      conv_ = conv_shape(work);
      columns_ = floats(conv_.ic / conv_.groups * conv_.kh * conv_.kw * conv_.out_h() * conv_.out_w());
    } else if (work.op == "matmul") {
      matmul_ = matmul_shape(work);
    } else {
      throw Error(ErrorCode::Unsupported, "OpenBLAS has no '" + work.op + "'", "op");
    }
    work_ = work;
    left_ = floats_of(inputs[0]);
    right_ = floats_of(inputs[1]);
    const TensorSpec spec = output_spec(work);
    shape_ = Tensor{spec.name, "f32", spec.dims, {}};
    output_ = floats(shape_.elements());
  }

  void run() override {
    if (work_.op == "matmul") {
      run_matmul();
    } else {
      run_convolution();
    }
  }

  Tensor output() override {
    return Tensor::f32(shape_.name, shape_.dims, {output_.get(), static_cast<std::size_t>(shape_.elements())});
  }

  // Its workers spin for 2^26 clock ticks before they sleep.
  double spin_seconds() const override { return threads_ > 1 ? 0.04 : 0; }

 private:
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c,
                bool trans_b = false) const {
    sgemm_(kRowMajor, kNoTranspose, trans_b ? kTranspose : kNoTranspose, narrow(m), narrow(n), narrow(k), 1, a,
           narrow(k), b, narrow(trans_b ? k : n), 0, c, narrow(n));
  }

  void run_matmul() {
    const auto& [batch, m, n, k, trans_b] = matmul_;
    for (std::int64_t i = 0; i < batch; ++i) {
      const float* a = left_.get() + i * m * k;
      const float* b = right_.get() + i * k * n;
      float* c = output_.get() + i * m * n;
      if (m == 1 && trans_b) {
        sgemv_(kRowMajor, kNoTranspose, narrow(n), narrow(k), 1, b, narrow(k), a, 1, 0, c, 1);
      } else if (m == 1) {
        sgemv_(kRowMajor, kTranspose, narrow(k), narrow(n), 1, b, narrow(n), a, 1, 0, c, 1);
      } else {
        multiply(m, n, k, a, b, c, trans_b);
      }
    }
  }

  /// columns[ic,kh,kw][y,x] = in[ic, y*stride+kh*dilation-pad, ...], zero outside.
  void im2col(const float* in) {
    const ConvShape& s = conv_;
    float* column = columns_.get();
    for (std::int64_t c = 0; c < s.ic / s.groups; ++c) {
      for (std::int64_t kh = 0; kh < s.kh; ++kh) {
        for (std::int64_t kw = 0; kw < s.kw; ++kw) {
          const std::int64_t shift = kw * s.dilation_w - s.pad_left;
          // Columns [first, last) of the output read inside the input.
          const std::int64_t first = std::min(s.out_w(), shift < 0 ? (-shift + s.stride_w - 1) / s.stride_w : 0);
          const std::int64_t last = std::clamp(
              s.w - shift <= 0 ? std::int64_t{0} : (s.w - shift + s.stride_w - 1) / s.stride_w, first, s.out_w());
          for (std::int64_t y = 0; y < s.out_h(); ++y, column += s.out_w()) {
            const std::int64_t row = y * s.stride_h + kh * s.dilation_h - s.pad_top;
            if (row < 0 || row >= s.h) {
              std::fill_n(column, s.out_w(), 0.0F);
              continue;
            }
            const float* source = in + (c * s.h + row) * s.w + shift;
            std::fill_n(column, first, 0.0F);
            if (s.stride_w == 1) {
              std::copy(source + first, source + last, column + first);
            } else {
              for (std::int64_t x = first; x < last; ++x) column[x] = source[x * s.stride_w];
            }
            std::fill(column + last, column + s.out_w(), 0.0F);
          }
        }
      }
    }
  }

  void run_convolution() {
    const ConvShape& s = conv_;
    const std::int64_t pixels = s.out_h() * s.out_w(), channels = s.ic / s.groups, filters = s.oc / s.groups;
    const std::int64_t depth = channels * s.kh * s.kw;
    const bool plain = s.kh == 1 && s.kw == 1 && s.stride_h == 1 && s.stride_w == 1 && pixels == s.h * s.w;
    for (std::int64_t n = 0; n < s.n; ++n) {
      for (std::int64_t g = 0; g < s.groups; ++g) {
        const float* in = left_.get() + (n * s.ic + g * channels) * s.h * s.w;
        if (!plain) im2col(in);
        multiply(filters, pixels, depth, right_.get() + g * filters * depth, plain ? in : columns_.get(),
                 output_.get() + (n * s.oc + g * filters) * pixels);
      }
    }
  }

  int threads_;
  SharedLibrary library_;
  Sgemm sgemm_ = nullptr;
  Sgemv sgemv_ = nullptr;
  char* (*config_)() = nullptr;
  char* (*core_)() = nullptr;
  PeerWork work_;
  MatmulShape matmul_{};
  ConvShape conv_{};
  Tensor shape_;
  Floats left_, right_, columns_, output_;
};

}  // namespace

std::unique_ptr<NativeLibrary> open_openblas(const std::string& file, int threads) {
  return std::make_unique<OpenBlas>(file, threads);
}

}  // namespace temper::peers
