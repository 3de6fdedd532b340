#include "temper/compile/replay.h"

#include <map>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::compile {

std::string print(const TraceFile& file) {
  return "%% target\n" + target::serialise(file.target) + "%% compute\n" + ir::print(file.compute) + "\n%% trace\n" +
         schedule::print(file.trace);
}

TraceFile parse_trace_file(std::string_view text) {
  std::map<std::string, std::string, std::less<>> sections;
  std::string* current = nullptr;
  int line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (line.starts_with("%% ")) {
      const std::string name(line.substr(3));
      if (name != "target" && name != "compute" && name != "trace") {
        throw Error(ErrorCode::InvalidArgument, "unknown section '" + name + "'",
                    "trace file, line " + std::to_string(line_number), "sections: target, compute, trace");
      }
      current = &sections[name];
      continue;
    }
    if (current == nullptr) {
      if (line.empty()) continue;
      throw Error(ErrorCode::InvalidArgument, "text before the first section",
                  "trace file, line " + std::to_string(line_number),
                  "a trace file starts with '%% target'; `temper explain --stage trace` writes one");
    }
    current->append(line).push_back('\n');
  }
  for (const char* name : {"target", "compute", "trace"}) {
    if (!sections.contains(name)) {
      throw Error(ErrorCode::InvalidArgument, std::string("the section '%% ") + name + "' is missing", "trace file",
                  "`temper explain --stage trace` writes one");
    }
  }
  return {target::parse_target(sections["target"]), ir::parse_compute(sections["compute"]),
          schedule::parse_trace(sections["trace"])};
}

std::string fingerprint(const codegen::Artifact& artifact) { return to_hex(hash_bytes(artifact.bytes)); }

}  // namespace temper::compile
