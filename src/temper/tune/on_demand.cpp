#include "temper/tune/on_demand.h"

namespace temper::tune {

Built artifact_on_demand(const Task& task, Mode mode, const Options& options) {
  const target::Target target = options.target ? *options.target : target::detect();
  if (mode == Mode::On && options.store != nullptr && !best(*options.store, task, target, options.max_error))
    tune(std::span(&task, 1), options);
  return artifact_for(options.store, task, target, mode, options.templates, options.max_error);
}

}  // namespace temper::tune
