// How near kernels that Temper does not know come to what their instructions allow: the max-plus product 512x512x512
// and a 3x3 convolution 56x56x64 -> 64 with an activation of the user's own, both from examples/ (the public language,
// the user's template), tuned here and then timed in turn with loops of nothing but their vector arithmetic in
// registers.
//
//   own_kernels [TRIALS]      exit code 1 when a kernel stays below 0.85 of its bound
//
// The bounds, as seconds for the same work:
//   max-plus      m·n·k additions and as many maxima, at the rate of a loop of 12 independent pairs (vaddps, vmaxps);
//   convolution   the multiply-adds whose input is inside the image, at the rate of 12 independent vfmadd231ps. The
//                 activation's own instructions are left out, so the true bound is lower than this one.
// Loads, stores, address arithmetic and branches count as free in both.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "gated_convolution.h"
#include "kernel.h"
#include "max_plus.h"
#include "temper/peers/interleave.h"
#include "temper/support/clock.h"

using namespace temper;

namespace {

constexpr std::int64_t kIterations = 20000;
constexpr int kChains = 12;

// clang-format off
#define CHAINS(X, R) X(R,"0") X(R,"1") X(R,"2") X(R,"3") X(R,"4") X(R,"5") X(R,"6") X(R,"7") X(R,"8") X(R,"9") X(R,"10") X(R,"11")
#define PAIR(R, acc) "vaddps %%" R "13, %%" R "14, %%" R "15\n vmaxps %%" R "15, %%" R acc ", %%" R acc "\n"
#define FMA(R, acc) "vfmadd231ps %%" R "13, %%" R "14, %%" R acc "\n"
#define REPEAT(BODY)                                                                                                  \
  std::int64_t left = kIterations;                                                                                    \
  asm volatile("vzeroall\n 1:\n" BODY "dec %0\n jnz 1b\n vzeroupper\n" : "+r"(left) :: "cc", "xmm0", "xmm1", "xmm2", "xmm3", \
               "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")
// clang-format on

void pairs512() { REPEAT(CHAINS(PAIR, "zmm")); }
void pairs256() { REPEAT(CHAINS(PAIR, "ymm")); }
void multiply_adds512() { REPEAT(CHAINS(FMA, "zmm")); }
void multiply_adds256() { REPEAT(CHAINS(FMA, "ymm")); }

struct Case {
  std::string name;
  tune::Task task;
  space::Template tiled;
  double steps;    ///< additions with their maxima, or multiply-adds
  void (*loop)();  ///< does kIterations * kChains * lanes of them
};

/// Returns the share of the bound that was reached.
double measure(const Case& c, const target::Target& target, std::int64_t trials) {
  const std::vector<space::Template> templates = {c.tiled};
  const auto store = store::open_in_memory();
  tune::Options options;
  options.templates = templates;
  options.trials = trials;
  options.store = store.get();
  const tune::TaskReport report = tune::tune({&c.task, 1}, options).tasks.front();
  if (!report.error.empty()) throw Error(ErrorCode::Unsupported, report.error);
  const tune::Built built = tune::artifact_for(store.get(), c.task, target, tune::Mode::Cached, templates);
  example::Kernel kernel(c.task, built.artifact);
  kernel.run(1);
  if (const double error = kernel.error(); error > 1e-5)
    throw Error(ErrorCode::Internal, "wrong by " + std::to_string(error));

  const SystemClock clock;
  const std::vector<peers::Side> sides = {
      peers::side_of("kernel", [&] { kernel.call(); }, clock), peers::side_of("bound", c.loop, clock)};
  const std::vector<peers::SideTimes> times = peers::interleave(sides, {});
  const double loop_steps = static_cast<double>(kIterations) * kChains * static_cast<double>(target.vector_bytes / 4);
  const double bound = times[1].median_seconds * c.steps / loop_steps;
  const double share = bound / times[0].median_seconds;
  fmt::print("{:<24} {:8.1f} us, bound {:8.1f} us: {:.2f} of it  ({} of {} configurations tried, {})\n", c.name,
             times[0].median_seconds * 1e6, bound * 1e6, share, report.trials, report.valid_candidates,
             report.best_candidate);
  return share;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::int64_t trials = argc > 1 ? std::atoll(argv[1]) : 150;
  const target::Target target = target::detect();
  const bool wide = target.vector_bytes == 64;
  runtime::pin_current_thread(runtime::allowed_cpus().front());
  const auto everywhere = [](const ir::Compute&, const target::Target&) { return true; };

  const std::int64_t size = 512;
  const example::ConvolutionShape conv{64, 56, 64, 3, 1};
  const double inside = static_cast<double>(conv.kernel * conv.size - 2 * conv.pad);  // window columns in the image
  const Case cases[] = {{"max-plus 512x512x512",
                         tune::make_task("max_plus", {{"size", "512"}}, example::max_plus(size, size, size), 1),
                         {"tiled", everywhere, example::max_plus_tiled},
                         static_cast<double>(size * size * size),
                         wide ? pairs512 : pairs256},
                        {"gated conv 56x56x64 k3",
                         tune::make_task("gated_convolution", {{"size", "56"}}, example::gated_convolution(conv), 1),
                         {"tiled", everywhere, example::gated_convolution_tiled},
                         inside * inside * static_cast<double>(conv.channels * conv.filters),
                         wide ? multiply_adds512 : multiply_adds256}};
  bool reached = true;
  for (const Case& c : cases) reached = measure(c, target, trials) >= 0.85 && reached;
  return reached ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return EXIT_FAILURE;
}
