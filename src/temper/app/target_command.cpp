#include <CLI/CLI.hpp>

#include "temper/app/session.h"
#include "temper/target/cpu.h"

namespace temper::app {

void declare_target(CLI::App& command, Session& session) {
  command.callback([&session] {
    session.action = [](Session& s) {
      const target::Target t = target::detect();
      s.print(target::serialise(t) + "fingerprint " + target::fingerprint(t) + "\n");
      return nlohmann::json{{"vendor", t.vendor},
                            {"cpu", t.model_name},
                            {"microarchitecture", t.microarchitecture},
                            {"features", t.features},
                            {"vector_bytes", t.vector_bytes},
                            {"vector_registers", t.vector_registers},
                            {"l1d_bytes", t.l1d_bytes},
                            {"l2_bytes", t.l2_bytes},
                            {"l3_bytes", t.l3_bytes},
                            {"physical_cores", t.physical_cores},
                            {"logical_cpus", t.logical_cpus},
                            {"fingerprint", target::fingerprint(t)}};
    };
  });
}

}  // namespace temper::app
