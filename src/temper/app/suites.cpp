#include "temper/app/suites.h"

#include "temper/support/error.h"

namespace temper::app {

namespace {

constexpr SuiteEntry kEntries[] = {
    {"gmm_1024", "matmul(m=1024,n=1024,k=1024)"},
    {"gmm_512", "matmul(m=512,n=512,k=512)"},
    {"gmm_128", "matmul(m=128,n=128,k=128)"},
    {"gmm_128x768x3072", "matmul(m=128,n=768,k=3072)"},
    {"gmm_128x3072x768", "matmul(m=128,n=3072,k=768)"},
    {"gmm_prime", "matmul(m=127,n=509,k=1021)"},
    {"c2d_56_3x3", "conv2d(n=1,ic=64,h=56,w=56,oc=64,kh=3,kw=3,stride=1,pad=1)"},
    {"c2d_14_3x3", "conv2d(n=1,ic=256,h=14,w=14,oc=256,kh=3,kw=3,stride=1,pad=1)"},
    {"c2d_7_3x3", "conv2d(n=1,ic=512,h=7,w=7,oc=512,kh=3,kw=3,stride=1,pad=1)"},
    {"c2d_224_7x7s2", "conv2d(n=1,ic=3,h=224,w=224,oc=64,kh=7,kw=7,stride=2,pad=3)"},
    {"c2d_56_1x1", "conv2d(n=1,ic=64,h=56,w=56,oc=64,kh=1,kw=1)"},
    {"dep_112_s1", "conv2d(n=1,ic=32,h=112,w=112,oc=32,kh=3,kw=3,stride=1,pad=1,groups=32)"},
    {"dep_14_s2", "conv2d(n=1,ic=512,h=14,w=14,oc=512,kh=3,kw=3,stride=2,pad=1,groups=512)"},
    {"softmax_1024", "softmax(rows=1024,cols=1024)"},
    {"layernorm_128x768", "layernorm(rows=128,cols=768)"},
    {"attn_128", "attention(heads=12,queries=128,keys=128,depth=64)"},
    {"attn_512", "attention(heads=12,queries=512,keys=512,depth=64)"},
};

}  // namespace

std::span<const SuiteEntry> suite_entries() { return kEntries; }

std::string suite_spec(const SuiteEntry& entry, std::string_view suite) {
  if (suite != "native" && suite != "nchw") {
    throw Error(ErrorCode::InvalidArgument, "there is no suite '" + std::string(suite) + "'", "--suite",
                "suites: native, nchw");
  }
  std::string spec = entry.spec;
  // Temper likes NHWC best: vectors over exact channel counts.
  if (spec.starts_with("conv2d")) spec.insert(spec.size() - 1, suite == "native" ? ",layout=nhwc" : ",layout=nchw");
  return spec;
}

}  // namespace temper::app
