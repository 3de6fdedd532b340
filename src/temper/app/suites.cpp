#include "temper/app/suites.h"

#include <algorithm>
#include <iterator>

#include "temper/support/error.h"

namespace temper::app {

namespace {

constexpr SuiteEntry kEntries[] = {
    {"gmm_1024", "matmul(m=1024,n=1024,k=1024)", true},
    {"gmm_512", "matmul(m=512,n=512,k=512)", true},
    {"gmm_128", "matmul(m=128,n=128,k=128)", true},
    {"gmm_128x768x3072", "matmul(m=128,n=768,k=3072)", true},
    {"gmm_128x3072x768", "matmul(m=128,n=3072,k=768)", true},
    {"gmm_prime", "matmul(m=127,n=509,k=1021)", true},
    {"c2d_56_3x3", "conv2d(n=1,ic=64,h=56,w=56,oc=64,kh=3,kw=3,stride=1,pad=1)", true},
    {"c2d_14_3x3", "conv2d(n=1,ic=256,h=14,w=14,oc=256,kh=3,kw=3,stride=1,pad=1)", true},
    {"c2d_7_3x3", "conv2d(n=1,ic=512,h=7,w=7,oc=512,kh=3,kw=3,stride=1,pad=1)", true},
    {"c2d_224_7x7s2", "conv2d(n=1,ic=3,h=224,w=224,oc=64,kh=7,kw=7,stride=2,pad=3)", true},
    {"c2d_56_1x1", "conv2d(n=1,ic=64,h=56,w=56,oc=64,kh=1,kw=1)", true},
    {"dep_112_s1", "conv2d(n=1,ic=32,h=112,w=112,oc=32,kh=3,kw=3,stride=1,pad=1,groups=32)", true},
    {"dep_14_s2", "conv2d(n=1,ic=512,h=14,w=14,oc=512,kh=3,kw=3,stride=2,pad=1,groups=512)", true},
    {"softmax_1024", "softmax(rows=1024,cols=1024)", true},
    {"layernorm_128x768", "layernorm(rows=128,cols=768)", true},
    {"gmm_512x512x32", "matmul(m=512,n=512,k=32)"},
    {"gmm_128x768x768", "matmul(m=128,n=768,k=768)"},
    {"gmm_matvec", "matmul(m=1,n=1000,k=2048)"},
    {"tbg_12", "matmul(batch=12,m=128,n=128,k=64,trans_b=1,const=none)"},
    {"c2d_28_1x1s2", "conv2d(n=1,ic=128,h=28,w=28,oc=256,kh=1,kw=1,stride=2)"},
    {"dep_112_s2", "conv2d(n=1,ic=64,h=112,w=112,oc=64,kh=3,kw=3,stride=2,pad=1,groups=64)"},
    {"dep_7_s1", "conv2d(n=1,ic=1024,h=7,w=7,oc=1024,kh=3,kw=3,stride=1,pad=1,groups=1024)"},
    {"grp_56", "conv2d(n=1,ic=64,h=56,w=56,oc=128,kh=3,kw=3,stride=2,pad=1,groups=4)"},
    {"dil_14", "conv2d(n=1,ic=256,h=14,w=14,oc=256,kh=3,kw=3,stride=1,pad=2,dilation=2)"},
    {"cbr_56", "conv2d(n=1,ic=64,h=56,w=56,oc=128,kh=3,kw=3,stride=2,pad=1,epilogue=bias+relu)"},
    {"c1d_256", "conv1d(n=1,ic=64,w=256,oc=128,kw=3,stride=2,pad=1)"},
    {"t2d_4", "conv_transpose2d(n=1,ic=512,h=4,w=4,oc=256,kh=4,kw=4,stride=2,pad=1)"},
    {"t2d_16", "conv_transpose2d(n=1,ic=128,h=16,w=16,oc=64,kh=4,kw=4,stride=2,pad=1)"},
    {"attn_128", "attention(heads=12,queries=128,keys=128,depth=64)"},
    {"attn_512", "attention(heads=12,queries=512,keys=512,depth=64)"},
};

void require_suite(std::string_view suite) {
  if (suite != "native" && suite != "nchw") {
    throw Error(ErrorCode::InvalidArgument, "there is no suite '" + std::string(suite) + "'", "--suite",
                "suites: native, nchw");
  }
}

}  // namespace

std::vector<SuiteEntry> suite_entries(std::string_view suite) {
  require_suite(suite);
  std::vector<SuiteEntry> entries;
  std::ranges::copy_if(kEntries, std::back_inserter(entries),
                       [&](const SuiteEntry& entry) { return suite == "nchw" || entry.native; });
  return entries;
}

std::string suite_spec(const SuiteEntry& entry, std::string_view suite) {
  require_suite(suite);
  std::string spec = entry.spec;
  // Temper likes NHWC best: vectors over exact channel counts.
  if (spec.starts_with("conv")) spec.insert(spec.size() - 1, suite == "native" ? ",layout=nhwc" : ",layout=nchw");
  return spec;
}

}  // namespace temper::app
