#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "temper/app/options.h"
#include "temper/app/session.h"
#include "temper/runtime/bundle.h"
#include "temper/support/error.h"

namespace temper::app {

void declare_build(CLI::App& command, Session& session) {
  struct Options {
    ModelOptions work;
    std::string output;
  };
  auto o = std::make_shared<Options>();
  declare_work(command, o->work, false);
  command.get_option("MODEL")->required();
  command.add_option("-o,--output", o->output, "The bundle to write (model.temper)")->required();
  command.add_option("--disable-pass", o->work.disabled_passes, "Leave out a graph pass");
  command.callback([&session, o] {
    session.action = [o](Session& s) {
      const graph::Program program = load_program(o->work);
      const Records records(o->work.db, s.cancellation);
      if (!records.note().empty()) s.progress(records.note());
      const BuiltModel built = build_model(program, target::detect(), o->work.threads, records);
      runtime::save_bundle(built.plan, o->output);
      std::size_t tuned = 0;
      for (const TaskChoice& choice : built.choices) {
        tuned += choice.record ? 1 : 0;
        if (!choice.note.empty()) s.progress(choice.note);
      }
      const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(o->output));
      s.print(fmt::format("{}: {} steps, {} tasks ({} tuned), {} bytes\n", o->output, program.steps.size(),
                          program.tasks.size(), tuned, bytes));
      return nlohmann::json{{"bundle", o->output},
                            {"bytes", bytes},
                            {"steps", program.steps.size()},
                            {"tasks", program.tasks.size()},
                            {"tuned", tuned}};
    };
  });
}

}  // namespace temper::app
