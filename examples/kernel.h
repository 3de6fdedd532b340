// Runs a compiled task on random data, and says how far its output is from the definition's exact one.
#pragma once

#include <temper/support/random.h>
#include <temper/temper.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace example {

class Kernel {
 public:
  Kernel(const temper::tune::Task& task, const temper::codegen::Artifact& artifact)
      : task_(&task), kernel_(temper::runtime::ArtifactImage::load(artifact.bytes), pool_) {
    temper::RandomStream random(1);
    for (const temper_buffer& buffer : kernel_.image().buffers()) {
      if (buffer.role != TEMPER_INPUT && buffer.role != TEMPER_CONSTANT && buffer.role != TEMPER_OUTPUT) continue;
      temper::runtime::AlignedBuffer& memory = memory_.emplace_back(buffer.bytes);
      if (buffer.role == TEMPER_OUTPUT) {
        outputs_.push_back(memory.data());
        continue;
      }
      auto* values = reinterpret_cast<float*>(memory.data());
      for (std::int64_t i = 0; i < buffer.bytes / 4; ++i) values[i] = static_cast<float>(random.uniform_real() * 2 - 1);
      (buffer.role == TEMPER_INPUT ? inputs_ : constants_).push_back(memory.data());
      data_[buffer.name] = memory.span();
    }
    kernel_.prepare(constants_);
  }

  void call() { kernel_.run(inputs_, outputs_); }

  /// Seconds of the fastest of some runs.
  double run(int times = 20) {
    double best = 1e9;
    for (int i = 0; i < times; ++i) {
      const auto start = std::chrono::steady_clock::now();
      call();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
  }

  /// Largest difference from the oracle over the largest absolute output, over `points` random elements.
  double error(int points = 500) const {
    temper::ir::Oracle oracle(task_->compute, data_);
    const temper::ir::Stage& output = *task_->compute.outputs.front();
    const auto* values = static_cast<const float*>(outputs_.front());
    temper::RandomStream random(2);
    double worst = 0, largest = 1e-30;
    for (int p = 0; p < points; ++p) {
      std::vector<std::int64_t> index;
      std::int64_t flat = 0;
      for (const std::int64_t extent : output.shape()) {
        index.push_back(random.uniform_int(0, extent - 1));
        flat = flat * extent + index.back();
      }
      const double exact = oracle.at(output, index).value;
      worst = std::max(worst, std::abs(exact - static_cast<double>(values[flat])));
      largest = std::max(largest, std::abs(exact));
    }
    return worst / largest;
  }

 private:
  const temper::tune::Task* task_;
  temper::runtime::ThreadPool pool_{1};
  temper::runtime::KernelInstance kernel_;
  std::vector<temper::runtime::AlignedBuffer> memory_;
  std::vector<const void*> inputs_, constants_;
  std::vector<void*> outputs_;
  temper::ir::Inputs data_;
};

}  // namespace example
