#include "temper/tune/roofline.h"

#include <immintrin.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "temper/support/clock.h"

namespace temper::tune {
namespace {

constexpr int kSamples = 8;
/// Twelve chains of dependent multiply-adds keep two units of four cycles' latency busy and fit into sixteen registers.
constexpr int kChains = 12;
constexpr std::int64_t kSteps = 40'000;
constexpr std::int64_t kMostBytes = std::int64_t{64} << 20;

/// Each returns a number that depends on all of its arithmetic.
__attribute__((target("avx2,fma"))) float chains_256(std::int64_t steps) {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 factor = _mm256_set1_ps(0.999F), term = _mm256_set1_ps(1e-3F);
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
  }
  float result = 0;
  for (int i = 0; i < kChains; ++i) result += _mm256_cvtss_f32(sums[i]);
  return result;
}

__attribute__((target("avx512f"))) float chains_512(std::int64_t steps) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 factor = _mm512_set1_ps(0.999F), term = _mm512_set1_ps(1e-3F);
  for (std::int64_t step = 0; step < steps; ++step) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], factor, term);
  }
  float result = 0;
  for (int i = 0; i < kChains; ++i) result += _mm512_cvtss_f32(sums[i]);
  return result;
}

__attribute__((target("avx2"))) float read_all(const std::vector<float>& data) {
  __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  for (std::size_t i = 0; i + 32 <= data.size(); i += 32) {
    for (std::size_t j = 0; j < 4; ++j) sums[j] = _mm256_add_ps(sums[j], _mm256_loadu_ps(data.data() + i + 8 * j));
  }
  const __m256 sum = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
  return _mm256_cvtss_f32(sum);
}

/// The least time of some calls.
double least_seconds(const std::function<float()>& work) {
  const SystemClock clock;
  double least = 0;
  for (int sample = 0; sample < kSamples; ++sample) {
    const double start = clock.seconds();
    const float used = work();
    asm volatile("" : : "x"(used));  // so that nothing is left out
    const double took = clock.seconds() - start;
    least = sample == 0 ? took : std::min(least, took);
  }
  return least;
}

double bytes_per_second(std::int64_t bytes) {
  const std::vector<float> data(static_cast<std::size_t>(bytes) / sizeof(float), 1.0F);
  constexpr std::int64_t kBytesOfASample = std::int64_t{4} << 20;
  const std::int64_t passes = std::max<std::int64_t>(1, kBytesOfASample / bytes);
  const double seconds = least_seconds([&] {
    float sum = 0;
    for (std::int64_t pass = 0; pass < passes; ++pass) sum += read_all(data);
    return sum;
  });
  return seconds > 0 ? static_cast<double>(bytes * passes) / seconds : 0;
}

double moved_bytes(const Task& task) {
  double bytes = 0;
  for (const ir::StagePtr& stage : task.compute.stages) {
    const bool output = std::ranges::find(task.compute.outputs, stage) != task.compute.outputs.end();
    if (stage->kind != ir::StageKind::Placeholder && !output) continue;
    const std::vector<std::int64_t> shape = stage->shape();
    const double elements = std::accumulate(shape.begin(), shape.end(), 1.0, [](double product, std::int64_t extent) {
      return product * static_cast<double>(extent);
    });
    for (const ir::DType dtype : stage->dtypes) bytes += elements * static_cast<double>(ir::bytes(dtype));
  }
  return bytes;
}

}  // namespace

MachinePeaks measure_peaks(const target::Target& target) {
  MachinePeaks peaks;
  if (!target.has("avx2") || !target.has("fma")) return peaks;
  const bool wide = target.vector_bytes >= 64 && target.has("avx512f");
  const double seconds = least_seconds([&] { return wide ? chains_512(kSteps) : chains_256(kSteps); });
  const double lanes = wide ? 16 : 8;
  if (seconds > 0) peaks.flops_per_second = 2 * lanes * kChains * static_cast<double>(kSteps) / seconds;
  // Of each cache half is read: other data live in it as well.
  for (const std::int64_t cache : {target.l1d_bytes, target.l2_bytes, target.l3_bytes}) {
    if (cache > 0 && cache < kMostBytes) peaks.levels.push_back({cache, bytes_per_second(cache / 2)});
  }
  peaks.levels.push_back({kMostBytes, bytes_per_second(kMostBytes)});
  return peaks;
}

double roofline_seconds(const Task& task, const MachinePeaks& peaks) {
  const double arithmetic = peaks.flops_per_second > 0 ? task.flops / peaks.flops_per_second : 0;
  const double bytes = moved_bytes(task);
  double traffic = 0;
  for (const MachinePeaks::Level& level : peaks.levels) {
    if (level.bytes_per_second > 0) traffic = bytes / level.bytes_per_second;
    if (bytes <= static_cast<double>(level.bytes)) break;
  }
  return std::max(arithmetic, traffic) / task.threads;
}

}  // namespace temper::tune
