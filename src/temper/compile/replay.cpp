#include "temper/compile/replay.h"

#include <map>

#include "temper/support/error.h"
#include "temper/support/hash.h"

namespace temper::compile {
namespace {

constexpr std::string_view kMark = "%% ";
constexpr const char* kHint = "`temper explain --stage trace` writes trace files";

using Sections = std::map<std::string, std::string, std::less<>>;

Sections read_sections(std::string_view text) {
  Sections sections;
  std::string* current = nullptr;
  int line_number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    const std::string place = "trace file, line " + std::to_string(line_number);
    if (line.starts_with(kMark)) {
      const std::string name(line.substr(kMark.size()));
      if (name != "target" && name != "compute" && name != "trace")
        throw Error(ErrorCode::InvalidArgument, "unknown section '" + name + "'", place,
                    "sections: target, compute, trace");
      if (sections.contains(name))
        throw Error(ErrorCode::InvalidArgument, "the section '" + std::string(line) + "' comes twice", place, kHint);
      current = &sections[name];
      continue;
    }
    if (current == nullptr) {
      if (line.empty()) continue;
      throw Error(ErrorCode::InvalidArgument, "text before the first section", place, kHint);
    }
    current->append(line).push_back('\n');
  }
  return sections;
}

const std::string& section(const Sections& sections, std::string_view name) {
  const auto found = sections.find(name);
  if (found == sections.end())
    throw Error(ErrorCode::InvalidArgument, "the section '" + std::string(kMark) + std::string(name) + "' is missing",
                "trace file", kHint);
  return found->second;
}

std::string print_body(const ir::Compute& compute, const schedule::Trace& trace) {
  return "%% compute\n" + ir::print(compute) + "\n%% trace\n" + schedule::print(trace);
}

}  // namespace

std::string print(const TraceFile& file) {
  return "%% target\n" + target::serialise(file.target) + print_body(file.compute, file.trace);
}

TraceFile parse_trace_file(std::string_view text) {
  const Sections sections = read_sections(text);
  const std::string &target = section(sections, "target"), &compute = section(sections, "compute"),
                    &trace = section(sections, "trace");
  return {target::parse_target(target), ir::parse_compute(compute), schedule::parse_trace(trace)};
}

std::string print_recorded(const ir::Compute& compute, const schedule::Trace& trace) {
  return print_body(compute, trace);
}

RecordedTrace parse_recorded(std::string_view text) {
  if (!text.starts_with(kMark)) return {std::nullopt, schedule::parse_trace(text)};
  const Sections sections = read_sections(text);
  const std::string &compute = section(sections, "compute"), &trace = section(sections, "trace");
  return {ir::parse_compute(compute), schedule::parse_trace(trace)};
}

std::string fingerprint(const codegen::Artifact& artifact) { return to_hex(hash_bytes(artifact.bytes)); }

}  // namespace temper::compile
