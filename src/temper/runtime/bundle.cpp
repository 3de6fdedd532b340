#include "temper/runtime/bundle.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/hash.h"
#include "temper/support/output_file.h"
#include "temper/support/unique_fd.h"

namespace temper::runtime {
namespace {

using nlohmann::json;
static_assert(std::endian::native == std::endian::little, "the header is read and written as it lies in memory");

constexpr std::array<char, 8> kMagic{'T', 'E', 'M', 'P', 'E', 'R', '\x1a', '\n'};

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kBundleVersion;
  std::uint32_t zero = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t json_bytes = 0;
  std::uint64_t json_hash = 0;
  std::array<std::uint64_t, 2> reserved{};
  std::uint64_t header_hash = 0;
  std::uint64_t compute_hash() const {
    return hash_bytes({reinterpret_cast<const std::byte*>(this), offsetof(Header, header_hash)});
  }
};
static_assert(sizeof(Header) == 64 && offsetof(Header, header_hash) == 56);

constexpr std::array<std::pair<TensorKind, const char*>, 4> kKinds{{{TensorKind::Input, "input"},
                                                                    {TensorKind::Output, "output"},
                                                                    {TensorKind::Constant, "constant"},
                                                                    {TensorKind::Intermediate, "intermediate"}}};

const char* kind_name(TensorKind kind) {
  for (const auto& [value, name] : kKinds) {
    if (value == kind) return name;
  }
  check_failed("kind", __FILE__, __LINE__, "a tensor kind without a name");
}

TensorKind parse_kind(const std::string& text) {
  for (const auto& [value, name] : kKinds) {
    if (text == name) return value;
  }
  throw Error(ErrorCode::Corrupt, "no tensor kind is called '" + text + "'");
}

temper_dtype parse_dtype(const std::string& text) {
  for (int i = TEMPER_F32; i <= TEMPER_BOOL; ++i) {
    if (text == dtype_name(static_cast<temper_dtype>(i))) return static_cast<temper_dtype>(i);
  }
  throw Error(ErrorCode::Corrupt, "no element type is called '" + text + "'");
}

[[noreturn]] void io_error(const std::string& what, const std::filesystem::path& path, int error) {
  const ErrorCode code = error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io;
  throw Error(code, what + ": " + std::strerror(error), path.string());
}

// ---- writing ----

/// Places the parts one after another, `offset` counting from the end of the JSON (which is padded to 64).
json describe_parts(const std::vector<Bytes>& parts, std::int64_t& offset) {
  json list = json::array();
  for (const Bytes& part : parts) {
    list.push_back({{"offset", offset}, {"bytes", part.size()}, {"hash", to_hex(hash_bytes(part.span()))}});
    offset = align_up(offset + part.size());
  }
  return list;
}

json describe(const Plan& plan) {
  json tensors = json::array();
  for (const PlanTensor& tensor : plan.tensors) {
    json entry{{"name", tensor.name},
               {"dtype", dtype_name(tensor.dtype)},
               {"shape", tensor.shape},
               {"bytes", tensor.bytes},
               {"kind", kind_name(tensor.kind)}};
    if (tensor.constant != kNone) entry["constant"] = tensor.constant;
    if (tensor.view_of != kNone) entry.update({{"view_of", tensor.view_of}, {"view_offset", tensor.view_offset}});
    if (!tensor.strides.empty()) entry["strides"] = tensor.strides;
    if (tensor.arena_offset != kNone) entry["arena_offset"] = tensor.arena_offset;
    tensors.push_back(std::move(entry));
  }
  json steps = json::array();
  for (const Step& step : plan.steps) {
    json buffers = json::array();
    for (const Binding& binding : step.buffers) buffers.push_back({binding.tensor, binding.offset});
    steps.push_back({{"name", step.name}, {"artifact", step.artifact}, {"buffers", std::move(buffers)}});
  }
  std::int64_t offset = 0;
  json artifacts = describe_parts(plan.artifacts, offset);
  json constants = describe_parts(plan.constants, offset);
  return {{"tensors", std::move(tensors)},     {"inputs", plan.inputs},
          {"outputs", plan.outputs},           {"steps", std::move(steps)},
          {"artifacts", std::move(artifacts)}, {"constants", std::move(constants)},
          {"arena_bytes", plan.arena_bytes},   {"cpu_features", plan.cpu_features},
          {"metadata", plan.metadata}};
}

/// Writes zeros up to the next part.
void pad(OutputFile& file) {
  static constexpr std::array<std::byte, kAlignment> kZeros{};
  file.write(std::span(kZeros).first(static_cast<std::size_t>(align_up(file.written()) - file.written())));
}

// ---- reading ----

class Reader {
 public:
  Reader(const Bytes& file, const std::string& name) : file_(file), name_(name) {}

  std::shared_ptr<const Plan> read() {
    const Header header = read_header();
    const auto text = file_.span().subspan(sizeof(Header), header.json_bytes);
    if (hash_bytes(text) != header.json_hash) corrupt("its description is damaged");
    parts_begin_ = align_up(static_cast<std::int64_t>(sizeof(Header) + header.json_bytes));
    auto plan = std::make_shared<Plan>();
    try {
      const auto* begin = reinterpret_cast<const char*>(text.data());
      parse(json::parse(begin, begin + text.size()), *plan);
    } catch (const json::exception& error) {
      corrupt(std::string("its description is malformed: ") + error.what());
    }
    validate(*plan);
    return plan;
  }

 private:
  [[noreturn]] void corrupt(const std::string& why) const {
    throw Error(ErrorCode::Corrupt, "not a usable bundle: " + why, name_, "write it again with `temper build`");
  }

  Header read_header() const {
    const auto bytes = file_.span();
    const std::size_t magic_bytes = std::min(bytes.size(), kMagic.size());
    if (bytes.empty()) corrupt("the file is empty");
    if (std::memcmp(bytes.data(), kMagic.data(), magic_bytes) != 0) corrupt("the file is of another kind");
    if (bytes.size() < sizeof(Header)) corrupt("the file is cut short");
    Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.version > kBundleVersion) {
      throw Error(ErrorCode::Version,
                  "the bundle has version " + std::to_string(header.version) + ", this Temper reads up to " +
                      std::to_string(kBundleVersion),
                  name_, "use the Temper that wrote it, or a newer one");
    }
    if (header.header_hash != header.compute_hash() || header.version == 0) corrupt("its header is damaged");
    if (bytes.size() < header.file_bytes) corrupt("the file is cut short");
    if (bytes.size() > header.file_bytes) corrupt("there is something behind its end");
    if (header.json_bytes > bytes.size() - sizeof(Header)) corrupt("its header is damaged");
    return header;
  }

  std::vector<Bytes> parse_parts(const json& list) const {
    std::vector<Bytes> parts;
    for (const json& entry : list) {
      const auto offset = entry.at("offset").get<std::int64_t>(), bytes = entry.at("bytes").get<std::int64_t>();
      const std::int64_t room = file_.size() - parts_begin_;
      if (offset < 0 || bytes < 0 || bytes > room || offset > room - bytes || offset % std::int64_t{kAlignment} != 0) {
        corrupt("one of its parts lies outside of the file");
      }
      const auto span =
          file_.span().subspan(static_cast<std::size_t>(parts_begin_ + offset), static_cast<std::size_t>(bytes));
      if (to_hex(hash_bytes(span)) != entry.at("hash").get<std::string>()) corrupt("one of its parts is damaged");
      parts.push_back(Bytes::part_of(std::make_shared<const Bytes>(file_), span));
    }
    return parts;
  }

  void parse(const json& root, Plan& plan) const {
    for (const json& entry : root.at("tensors")) {
      PlanTensor tensor;
      entry.at("name").get_to(tensor.name);
      tensor.dtype = parse_dtype(entry.at("dtype").get<std::string>());
      entry.at("shape").get_to(tensor.shape);
      entry.at("bytes").get_to(tensor.bytes);
      tensor.kind = parse_kind(entry.at("kind").get<std::string>());
      tensor.constant = entry.value("constant", kNone);
      tensor.view_of = entry.value("view_of", kNone);
      tensor.view_offset = entry.value("view_offset", std::int64_t{0});
      tensor.strides = entry.value("strides", std::vector<std::int64_t>{});
      tensor.arena_offset = entry.value("arena_offset", std::int64_t{kNone});
      plan.tensors.push_back(std::move(tensor));
    }
    for (const json& entry : root.at("steps")) {
      Step step;
      entry.at("name").get_to(step.name);
      entry.at("artifact").get_to(step.artifact);
      for (const json& buffer : entry.at("buffers")) {
        step.buffers.push_back({buffer.at(0).get<std::int32_t>(), buffer.at(1).get<std::int64_t>()});
      }
      plan.steps.push_back(std::move(step));
    }
    root.at("inputs").get_to(plan.inputs);
    root.at("outputs").get_to(plan.outputs);
    plan.artifacts = parse_parts(root.at("artifacts"));
    plan.constants = parse_parts(root.at("constants"));
    root.at("arena_bytes").get_to(plan.arena_bytes);
    root.at("cpu_features").get_to(plan.cpu_features);
    root.at("metadata").get_to(plan.metadata);
  }

  const Bytes& file_;
  const std::string& name_;
  std::int64_t parts_begin_ = 0;
};

}  // namespace

std::int64_t save_bundle(const Plan& plan, const std::filesystem::path& path) {
  validate(plan);
  std::string text;
  try {
    text = describe(plan).dump();
  } catch (const json::exception& error) {
    throw Error(ErrorCode::InvalidArgument, std::string("a name in the plan is not valid UTF-8: ") + error.what());
  }
  Header header;
  header.json_bytes = text.size();
  const auto text_bytes = std::as_bytes(std::span(text));
  header.json_hash = hash_bytes(text_bytes);
  std::int64_t size = align_up(static_cast<std::int64_t>(sizeof header + text.size()));
  for (const auto* parts : {&plan.artifacts, &plan.constants}) {
    for (const Bytes& part : *parts) size += align_up(part.size());
  }
  header.file_bytes = static_cast<std::uint64_t>(size);
  header.header_hash = header.compute_hash();

  OutputFile file(path, "the bundle");
  file.write(std::as_bytes(std::span(&header, 1)));
  file.write(text_bytes);
  pad(file);
  for (const auto* parts : {&plan.artifacts, &plan.constants}) {
    for (const Bytes& part : *parts) {
      file.write(part.span());
      pad(file);
    }
  }
  file.keep();
  return file.written();
}

bool is_bundle(const std::filesystem::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kMagic.size()> start{};
  return file && read(file.get(), start.data(), start.size()) == static_cast<ssize_t>(start.size()) && start == kMagic;
}

std::shared_ptr<const Plan> load_bundle(const std::filesystem::path& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) io_error("cannot open the bundle", path, errno);
  struct stat status{};
  if (fstat(file.get(), &status) != 0) io_error("cannot read the bundle", path, errno);
  if (!S_ISREG(status.st_mode)) throw Error(ErrorCode::Io, "the bundle is not a regular file", path.string());
  if (status.st_size == 0) return parse_bundle({}, path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) io_error("cannot map the bundle", path, errno);
  const std::shared_ptr<const void> owner(mapped, [size](void* address) { munmap(address, size); });
  return parse_bundle(Bytes::part_of(owner, {static_cast<const std::byte*>(mapped), size}), path.string());
}

std::shared_ptr<const Plan> parse_bundle(const Bytes& bytes, const std::string& name) {
  return Reader(bytes, name).read();
}

}  // namespace temper::runtime
