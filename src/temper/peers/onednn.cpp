#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "temper/peers/native_library.h"
#include "temper/peers/onednn_api.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

using Memory = OneDnnHandle<dnnl_memory_t>;
using PrimitiveDesc = OneDnnHandle<dnnl_primitive_desc_t>;
using Primitive = OneDnnHandle<dnnl_primitive_t>;
using Attributes = OneDnnHandle<dnnl_primitive_attr_t>;

struct Eltwise {
  std::string_view step;
  dnnl_alg_kind_t algorithm;
};
constexpr std::array<Eltwise, 4> kEltwise{{{"relu", dnnl_eltwise_relu},
                                           {"hardswish", dnnl_eltwise_hardswish},
                                           {"sigmoid", dnnl_eltwise_logistic},
                                           {"tanh", dnnl_eltwise_tanh}}};

/// Row-major tags by rank.
constexpr std::array<dnnl_format_tag_t, 6> kPlain{
    dnnl_format_tag_undef, dnnl_a, dnnl_ab, dnnl_abc, dnnl_abcd, dnnl_abcde};

class OneDnn final : public NativeLibrary {
 public:
  OneDnn(const std::string& file, int threads) : threads_(threads), library_(file, "libdnnl2"), api_(library_) {
    dnnl_engine_t engine = nullptr;
    check_status(api_.engine_create(&engine, dnnl_cpu, 0), "engine");
    engine_ = {engine, api_.engine_destroy};
    dnnl_stream_t stream = nullptr;
    check_status(api_.stream_create(&stream, engine, dnnl_stream_default_flags), "stream");
    stream_ = {stream, api_.stream_destroy};
  }

  std::string version() const override {
    const dnnl_version_t* v = api_.version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
  }

  void prepare(const PeerWork& work, std::vector<Tensor> inputs) override {
    work_ = work;
    inputs_ = std::move(inputs);
    arguments_.clear();
    memories_.clear();
    specs_ = input_specs(work);
    if (work.op == "matmul") {
      prepare_matmul();
    } else if (is_convolution(work)) {
      prepare_convolution();
    } else if (work.op == "softmax") {
      prepare_softmax();
    } else if (work.op == "layernorm") {
      prepare_layer_norm();
    } else {
      throw Error(ErrorCode::Unsupported, "oneDNN has no '" + work.op + "'", "op");
    }
  }

  void run() override {
    check_status(
        api_.primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()), arguments_.data()),
        work_.op);
    check_status(api_.stream_wait(stream_.get()), work_.op);
  }

  Tensor output() override {
    const TensorSpec spec = output_spec(work_);
    Tensor result{spec.name, "f32", spec.dims, {}};
    result.data.resize(static_cast<std::size_t>(result.elements()) * sizeof(float));
    const Memory plain = new_memory(plain_output_);
    reorder(output_memory_, output_desc_, plain.get(), plain_output_);
    void* data = nullptr;
    check_status(api_.memory_get_data_handle(plain.get(), &data), "output");
    std::memcpy(result.data.data(), data, result.data.size());
    return result;
  }

  // libgomp's workers spin for some milliseconds before they sleep.
  double spin_seconds() const override { return threads_ > 1 ? 0.02 : 0; }

 private:
  dnnl_memory_desc_t desc(const std::vector<std::int64_t>& dims, dnnl_format_tag_t tag) const {
    dnnl_dims_t array{};
    std::ranges::copy(dims, array);
    dnnl_memory_desc_t result;
    check_status(api_.memory_desc_init_by_tag(&result, static_cast<int>(dims.size()), array, dnnl_f32, tag),
                 "memory descriptor");
    return result;
  }
  dnnl_memory_desc_t plain(const std::vector<std::int64_t>& dims) const { return desc(dims, kPlain.at(dims.size())); }

  Memory new_memory(const dnnl_memory_desc_t& description) const {
    dnnl_memory_t memory = nullptr;
    check_status(api_.memory_create(&memory, &description, engine_.get(), DNNL_MEMORY_ALLOCATE), "memory");
    return {memory, api_.memory_destroy};
  }

  void reorder(dnnl_memory_t from, const dnnl_memory_desc_t& from_desc, dnnl_memory_t to,
               const dnnl_memory_desc_t& to_desc) const {
    dnnl_primitive_desc_t reorder_desc = nullptr;
    check_status(
        api_.reorder_primitive_desc_create(&reorder_desc, &from_desc, engine_.get(), &to_desc, engine_.get(), nullptr),
        "reorder");
    const PrimitiveDesc owned(reorder_desc, api_.primitive_desc_destroy);
    dnnl_primitive_t primitive = nullptr;
    check_status(api_.primitive_create(&primitive, reorder_desc), "reorder");
    const Primitive owned_primitive(primitive, api_.primitive_destroy);
    const std::array<dnnl_exec_arg_t, 2> arguments{{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
    check_status(api_.primitive_execute(primitive, stream_.get(), 2, arguments.data()), "reorder");
    check_status(api_.stream_wait(stream_.get()), "reorder");
  }

  /// Puts input `index`, which lies as `given`, into memory of `wanted` and binds it to `argument`.
  void bind_input(std::size_t index, int argument, const dnnl_memory_desc_t& given, const dnnl_memory_desc_t& wanted) {
    Memory source = new_memory(given);
    void* data = nullptr;
    check_status(api_.memory_get_data_handle(source.get(), &data), "input");
    std::memcpy(data, inputs_[index].data.data(), inputs_[index].data.size());
    if (api_.memory_desc_equal(&given, &wanted) == 0) {
      Memory target = new_memory(wanted);
      reorder(source.get(), given, target.get(), wanted);
      source = std::move(target);
    }
    arguments_.push_back({argument, source.get()});
    memories_.push_back(std::move(source));
  }

  void bind_output(const dnnl_memory_desc_t& wanted, const dnnl_memory_desc_t& plain_form) {
    output_desc_ = wanted;
    plain_output_ = plain_form;
    Memory memory = new_memory(wanted);
    output_memory_ = memory.get();
    arguments_.push_back({DNNL_ARG_DST, memory.get()});
    memories_.push_back(std::move(memory));
  }

  dnnl_memory_desc_t chosen(dnnl_query_t what, int index = 0) const {
    const dnnl_memory_desc_t* found = api_.primitive_desc_query_md(primitive_desc_.get(), what, index);
    TEMPER_CHECK(found != nullptr, "oneDNN does not know its own memory descriptor");
    return *found;
  }

  std::size_t bias_index() const {
    const auto found = std::ranges::find(specs_, "bias", &TensorSpec::name);
    return static_cast<std::size_t>(found - specs_.begin());
  }
  bool has_bias() const { return bias_index() < specs_.size(); }

  /// The epilogue but for the bias, as post-ops; the operands of `add` lie as `added`.
  Attributes attributes(const dnnl_memory_desc_t& added) const {
    dnnl_post_ops_t ops = nullptr;
    check_status(api_.post_ops_create(&ops), "post-ops");
    const OneDnnHandle<dnnl_post_ops_t> owned_ops(ops, api_.post_ops_destroy);
    for (const std::string& step : work_.epilogue) {
      if (step == "add") check_status(api_.post_ops_append_binary(ops, dnnl_binary_add, &added), "add");
      const auto eltwise = std::ranges::find(kEltwise, std::string_view(step), &Eltwise::step);
      if (eltwise != kEltwise.end())
        check_status(api_.post_ops_append_eltwise(ops, 1.0F, eltwise->algorithm, 0, 0), step);
    }
    dnnl_primitive_attr_t attr = nullptr;
    check_status(api_.primitive_attr_create(&attr), "attributes");
    Attributes result(attr, api_.primitive_attr_destroy);
    check_status(api_.primitive_attr_set_post_ops(attr, ops), "post-ops");
    return result;
  }

  /// `added_plain` is how the operands of `add` are given; they are put into the output's own layout.
  void create(const_dnnl_op_desc_t operation, const dnnl_memory_desc_t& added_plain) {
    primitive_ = {};
    const auto make = [&](const dnnl_memory_desc_t& added) {
      const Attributes attr = attributes(added);
      dnnl_primitive_desc_t created = nullptr;
      check_status(api_.primitive_desc_create(&created, operation, attr.get(), engine_.get(), nullptr), work_.op);
      primitive_desc_ = {created, api_.primitive_desc_destroy};
    };
    make(added_plain);
    added_ = added_plain;
    if (std::ranges::count(work_.epilogue, "add") > 0) {
      added_ = chosen(dnnl_query_dst_md);
      make(added_);
    }
    dnnl_primitive_t primitive = nullptr;
    check_status(api_.primitive_create(&primitive, primitive_desc_.get()), work_.op);
    primitive_ = {primitive, api_.primitive_destroy};
  }

  void bind_epilogue(const dnnl_memory_desc_t& added_plain) {
    if (has_bias()) bind_input(bias_index(), DNNL_ARG_BIAS, bias_plain_, bias_plain_);
    std::size_t next = bias_index() < specs_.size() ? bias_index() + 1 : first_add();
    int position = 0;
    for (const std::string& step : work_.epilogue) {
      if (step == "bias") continue;
      if (step == "add") {
        bind_input(next++, DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1, added_plain, added_);
      }
      ++position;
    }
  }
  std::size_t first_add() const {
    const auto found = std::ranges::find(specs_, "add0", &TensorSpec::name);
    return static_cast<std::size_t>(found - specs_.begin());
  }

  void prepare_matmul() {
    const dnnl_memory_desc_t a = plain(specs_[0].dims);
    std::vector<std::int64_t> b_dims = specs_[1].dims;
    const bool transposed = matmul_shape(work_).trans_b;
    if (transposed) std::swap(b_dims[b_dims.size() - 1], b_dims[b_dims.size() - 2]);
    const dnnl_memory_desc_t b = transposed ? desc(b_dims, b_dims.size() == 3 ? dnnl_acb : dnnl_ba) : plain(b_dims);
    const dnnl_memory_desc_t b_wanted = specs_[1].constant ? desc(b_dims, dnnl_format_tag_any) : b;
    const dnnl_memory_desc_t out = plain(output_spec(work_).dims);
    std::vector<std::int64_t> bias_dims(specs_[0].dims.size(), 1);
    bias_dims.back() = b_dims.back();
    bias_plain_ = plain(bias_dims);
    dnnl_matmul_desc_t operation;
    check_status(api_.matmul_desc_init(&operation, &a, &b_wanted, has_bias() ? &bias_plain_ : nullptr, &out), "matmul");
    create(&operation, out);
    bind_input(0, DNNL_ARG_SRC, a, chosen(dnnl_query_src_md));
    bind_input(1, DNNL_ARG_WEIGHTS, b, chosen(dnnl_query_weights_md));
    bind_output(chosen(dnnl_query_dst_md), out);
    bind_epilogue(out);
  }

  void prepare_convolution() {
    const ConvShape s = conv_shape(work_);
    const dnnl_format_tag_t given = work_.layout == Layout::Nhwc ? dnnl_nhwc : dnnl_nchw;
    const dnnl_format_tag_t wanted = work_.layout == Layout::Native ? dnnl_format_tag_any : given;
    const std::vector<std::int64_t> in_dims{s.n, s.ic, s.h, s.w}, out_dims{s.n, s.oc, s.out_h(), s.out_w()};
    std::vector<std::int64_t> w_dims{s.oc, s.ic / s.groups, s.kh, s.kw};
    if (s.groups > 1) w_dims = {s.groups, s.oc / s.groups, s.ic / s.groups, s.kh, s.kw};
    const dnnl_memory_desc_t in = desc(in_dims, wanted), out = desc(out_dims, wanted);
    // Filters of a transposed convolution are given input channels first.
    const dnnl_memory_desc_t weights =
        s.transposed ? desc(w_dims, s.groups > 1 ? dnnl_acbde : dnnl_bacd) : plain(w_dims);
    const dnnl_memory_desc_t weights_wanted = work_.constant_weights ? desc(w_dims, dnnl_format_tag_any) : weights;
    bias_plain_ = plain({s.oc});
    const dnnl_memory_desc_t* bias = has_bias() ? &bias_plain_ : nullptr;
    const dnnl_dims_t strides{s.stride_h, s.stride_w}, dilations{s.dilation_h - 1, s.dilation_w - 1};
    const dnnl_dims_t before{s.pad_top, s.pad_left};
    dnnl_convolution_desc_t convolution;
    dnnl_deconvolution_desc_t deconvolution;
    if (s.transposed) {
      const dnnl_dims_t behind{s.pad_bottom - s.extra_h, s.pad_right - s.extra_w};
      check_status(
          api_.deconvolution_forward_desc_init(&deconvolution, dnnl_forward_inference, dnnl_deconvolution_direct, &in,
                                               &weights_wanted, bias, &out, strides, before, behind),
          "deconvolution");
    } else {
      // oneDNN wants the padding that its output size implies: a stride may leave rows unread.
      const auto after = [](std::int64_t output, std::int64_t stride, std::int64_t dilation, std::int64_t kernel,
                            std::int64_t input, std::int64_t pad) {
        return (output - 1) * stride + dilation * (kernel - 1) + 1 - input - pad;
      };
      const dnnl_dims_t behind{after(s.out_h(), s.stride_h, s.dilation_h, s.kh, s.h, s.pad_top),
                               after(s.out_w(), s.stride_w, s.dilation_w, s.kw, s.w, s.pad_left)};
      check_status(
          api_.dilated_convolution_forward_desc_init(&convolution, dnnl_forward_inference, dnnl_convolution_direct, &in,
                                                     &weights_wanted, bias, &out, strides, dilations, before, behind),
          "convolution");
    }
    const dnnl_memory_desc_t out_given = desc(out_dims, given);
    if (s.transposed) {
      create(&deconvolution, out_given);
    } else {
      create(&convolution, out_given);
    }
    bind_input(0, DNNL_ARG_SRC, desc(in_dims, given), chosen(dnnl_query_src_md));
    bind_input(1, DNNL_ARG_WEIGHTS, weights, chosen(dnnl_query_weights_md));
    bind_output(chosen(dnnl_query_dst_md), out_given);
    bind_epilogue(out_given);
  }

  void prepare_softmax() {
    const dnnl_memory_desc_t data = plain(specs_[0].dims);
    dnnl_softmax_v2_desc_t operation;
    check_status(
        api_.softmax_v2_forward_desc_init(&operation, dnnl_forward_inference, dnnl_softmax_accurate, &data, &data, 1),
        "softmax");
    create(&operation, data);
    bind_input(0, DNNL_ARG_SRC, data, data);
    bind_output(data, data);
    bind_epilogue(data);
  }

  void prepare_layer_norm() {
    const dnnl_memory_desc_t data = plain(specs_[0].dims), vector = plain(specs_[1].dims);
    dnnl_layer_normalization_desc_t operation;
    check_status(api_.layer_normalization_forward_desc_init(&operation, dnnl_forward_inference, &data, nullptr,
                                                            kLayerNormEpsilon, dnnl_use_scale | dnnl_use_shift),
                 "layer norm");
    create(&operation, data);
    bind_input(0, DNNL_ARG_SRC, data, data);
    bind_input(1, DNNL_ARG_SCALE, vector, vector);
    bind_input(2, DNNL_ARG_SHIFT, vector, vector);
    bind_output(data, data);
    bind_epilogue(data);
  }

  int threads_;
  SharedLibrary library_;
  OneDnnApi api_;
  OneDnnHandle<dnnl_engine_t> engine_;
  OneDnnHandle<dnnl_stream_t> stream_;
  PeerWork work_;
  std::vector<Tensor> inputs_;
  std::vector<TensorSpec> specs_;
  PrimitiveDesc primitive_desc_;
  Primitive primitive_;
  std::vector<Memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
  dnnl_memory_desc_t bias_plain_{}, added_{}, output_desc_{}, plain_output_{};
  dnnl_memory_t output_memory_ = nullptr;
};

}  // namespace

std::unique_ptr<NativeLibrary> open_onednn(const std::string& file, int threads) {
  return std::make_unique<OneDnn>(file, threads);
}

}  // namespace temper::peers
