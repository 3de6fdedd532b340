// What the other libraries reach on the workloads of the two suites, side by side on one core: the bars, without
// Temper.
//   peers_bench [native|nchw] [THREADS]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <string>
#include <vector>

#include "peers/reference.h"
#include "temper/peers/interleave.h"
#include "temper/peers/peer.h"
#include "temper/support/error.h"

namespace temper::peers {
namespace {

using Fields = std::map<std::string, std::int64_t>;

struct Row {
  const char* name;
  const char* op;
  Fields fields;
};

Fields matmul(std::int64_t m, std::int64_t n, std::int64_t k) { return {{"m", m}, {"n", n}, {"k", k}}; }
Fields conv(std::int64_t size, std::int64_t ic, std::int64_t oc, std::int64_t kernel, std::int64_t stride,
            std::int64_t pad, std::int64_t groups = 1) {
  return {{"h", size},    {"w", size},        {"ic", ic},   {"oc", oc},        {"kh", kernel},
          {"kw", kernel}, {"stride", stride}, {"pad", pad}, {"groups", groups}};
}

const std::vector<Row>& rows() {
  static const std::vector<Row> table{
      {"GEMM 1024x1024x1024", "matmul", matmul(1024, 1024, 1024)},
      {"GEMM 512x512x512", "matmul", matmul(512, 512, 512)},
      {"GEMM 128x128x128", "matmul", matmul(128, 128, 128)},
      {"GEMM 128x768x3072", "matmul", matmul(128, 768, 3072)},
      {"GEMM 128x3072x768", "matmul", matmul(128, 3072, 768)},
      {"GEMM 127x509x1021", "matmul", matmul(127, 509, 1021)},
      {"conv 56x56x64 k3", "conv2d", conv(56, 64, 64, 3, 1, 1)},
      {"conv 14x14x256 k3", "conv2d", conv(14, 256, 256, 3, 1, 1)},
      {"conv 7x7x512 k3", "conv2d", conv(7, 512, 512, 3, 1, 1)},
      {"conv 224x224x3 to 64 k7 s2", "conv2d", conv(224, 3, 64, 7, 2, 3)},
      {"conv 56x56x64 k1", "conv2d", conv(56, 64, 64, 1, 1, 0)},
      {"depthwise 112x112x32 k3", "conv2d", conv(112, 32, 32, 3, 1, 1, 32)},
      {"depthwise 14x14x512 k3 s2", "conv2d", conv(14, 512, 512, 3, 2, 1, 512)},
      {"softmax 1024x1024", "softmax", {{"rows", 1024}, {"cols", 1024}}},
      {"layer norm 128x768", "layernorm", {{"rows", 128}, {"cols", 768}}},
  };
  return table;
}

void print_table(Layout layout, int threads) {
  PeerOptions options = PeerOptions::defaults();
  options.threads = threads;
  std::vector<Peer> peers;
  for (const PeerInfo& info : known_peers()) {
    try {
      peers.emplace_back(info.name, options);
      std::printf("%s %s\n", std::string(info.title).c_str(), peers.back().version().c_str());
    } catch (const Error& error) {
      std::printf("%s is left out: %s\n", std::string(info.title).c_str(), error.what());
    }
  }
  std::printf("\n%-28s", "us: minimum / median");
  for (const Peer& peer : peers) std::printf("%24s", std::string(peer.name()).c_str());
  std::printf("\n");
  for (const Row& row : rows()) {
    const PeerWork work{row.op, row.fields, layout, {}, true, {}, {}};
    std::vector<Side> sides;
    std::vector<int> columns;
    for (Peer& peer : peers) {
      columns.push_back(peer.supports(work) ? static_cast<int>(sides.size()) : -1);
      if (!peer.supports(work)) continue;
      peer.prepare(work, testing::random_inputs(work, 1));
      sides.push_back(side_of(peer));
    }
    const std::vector<SideTimes> times = interleave(sides, {});
    std::printf("%-28s", row.name);
    for (const int column : columns) {
      constexpr double kMicro = 1e6;
      if (column < 0) {
        std::printf("%24s", "-");
      } else {
        const SideTimes& side = times[static_cast<std::size_t>(column)];
        std::printf("%12.1f /%10.1f", kMicro * side.min_seconds, kMicro * side.median_seconds);
      }
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace temper::peers

int main(int argc, char** argv) {
  try {
    temper::peers::print_table(temper::peers::parse_layout(argc > 1 ? argv[1] : "native"),
                               argc > 2 ? std::atoi(argv[2]) : 1);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
