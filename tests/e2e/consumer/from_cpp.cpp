// Compiles a small product with an installed Temper, runs it and prints one element; then an error, by its code.
#include <temper/temper.h>

#include <cstdio>
#include <vector>

int main() {
  using namespace temper;
  const tune::Task task = tune::task_from_spec("matmul(m=4,n=16,k=8,const=none)", 1);
  const tune::Built built = tune::artifact_for(nullptr, task, target::detect(), tune::Mode::Off);
  runtime::ThreadPool pool(1);
  runtime::KernelInstance kernel(runtime::ArtifactImage::load(built.artifact.bytes), pool);
  runtime::AlignedBuffer a(4 * 8 * 4), b(8 * 16 * 4), c(4 * 16 * 4);
  for (int i = 0; i < 4 * 8; ++i) reinterpret_cast<float*>(a.data())[i] = 0.5F;
  for (int i = 0; i < 8 * 16; ++i) reinterpret_cast<float*>(b.data())[i] = 3.0F;
  kernel.prepare({});
  const std::vector<const void*> inputs{a.data(), b.data()};
  const std::vector<void*> outputs{c.data()};
  kernel.run(inputs, outputs);
  std::printf("%g\n", reinterpret_cast<const float*>(c.data())[0]);
  try {
    tune::task_from_spec("nonsense(a=1)", 1);
  } catch (const Error& error) {
    std::printf("%s\n", std::string(to_string(error.code())).c_str());
  }
  return 0;
}
