#include "temper/target/cpu.h"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>

#include "temper/support/error.h"
#include "temper/target/cpu_features.h"

namespace temper::target {
namespace {

struct Model {
  const char* vendor;
  int family, first_model, last_model;
  const char* name;
};
constexpr const char* kAmd = "AuthenticAMD";
constexpr const char* kIntel = "GenuineIntel";
constexpr Model kModels[] = {
    {kAmd, 0x17, 0x00, 0x2f, "zen1"},          {kAmd, 0x17, 0x30, 0xff, "zen2"},
    {kAmd, 0x19, 0x00, 0x0f, "zen3"},          {kAmd, 0x19, 0x10, 0x1f, "zen4"},
    {kAmd, 0x19, 0x20, 0x5f, "zen3"},          {kAmd, 0x19, 0x60, 0xaf, "zen4"},
    {kAmd, 0x1a, 0x00, 0xff, "zen5"},          {kIntel, 6, 0x3c, 0x3c, "haswell"},
    {kIntel, 6, 0x3f, 0x3f, "haswell"},        {kIntel, 6, 0x45, 0x46, "haswell"},
    {kIntel, 6, 0x3d, 0x3d, "broadwell"},      {kIntel, 6, 0x47, 0x47, "broadwell"},
    {kIntel, 6, 0x4f, 0x4f, "broadwell"},      {kIntel, 6, 0x56, 0x56, "broadwell"},
    {kIntel, 6, 0x4e, 0x4e, "skylake"},        {kIntel, 6, 0x5e, 0x5e, "skylake"},
    {kIntel, 6, 0x8e, 0x8e, "skylake"},        {kIntel, 6, 0x9e, 0x9e, "skylake"},
    {kIntel, 6, 0xa5, 0xa6, "skylake"},        {kIntel, 6, 0x55, 0x55, "skylake-avx512"},
    {kIntel, 6, 0x6a, 0x6a, "icelake-server"}, {kIntel, 6, 0x6c, 0x6c, "icelake-server"},
    {kIntel, 6, 0x7d, 0x7e, "icelake-client"}, {kIntel, 6, 0x8c, 0x8d, "tigerlake"},
    {kIntel, 6, 0x97, 0x97, "alderlake"},      {kIntel, 6, 0x9a, 0x9a, "alderlake"},
    {kIntel, 6, 0xb7, 0xb7, "raptorlake"},     {kIntel, 6, 0xba, 0xba, "raptorlake"},
    {kIntel, 6, 0xbf, 0xbf, "raptorlake"},     {kIntel, 6, 0xaa, 0xac, "meteorlake"},
    {kIntel, 6, 0x8f, 0x8f, "sapphirerapids"}, {kIntel, 6, 0xcf, 0xcf, "emeraldrapids"},
    {kIntel, 6, 0xad, 0xae, "graniterapids"},
};

std::string microarchitecture_of(const Target& t) {
  for (const Model& m : kModels) {
    if (t.vendor == m.vendor && t.family == m.family && m.first_model <= t.model && t.model <= m.last_model)
      return m.name;
  }
  return "unknown";
}

/// Vector width and register count follow from the extensions alone.
void derive_vectors(Target& t) {
  const bool avx512 = t.has("avx512f") && t.has("avx512vl") && t.has("avx512dq") && t.has("avx512bw");
  t.vector_bytes = avx512 ? 64 : t.has("avx2") ? 32 : 16;
  t.vector_registers = avx512 ? 32 : 16;
}

std::string trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\0')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\0')) s.remove_suffix(1);
  return std::string(s);
}

void read_processor(Target& t) {
  const Registers vendor = cpuid(0, 0);
  const std::array<std::uint32_t, 3> name{vendor.ebx, vendor.edx, vendor.ecx};
  std::array<char, 12> text;
  std::memcpy(text.data(), name.data(), text.size());
  t.vendor = trim({text.data(), text.size()});

  const std::uint32_t signature = cpuid(1, 0).eax;
  t.stepping = static_cast<int>(signature & 0xf);
  t.family = static_cast<int>((signature >> 8) & 0xf);
  t.model = static_cast<int>((signature >> 4) & 0xf);
  if (t.family == 0xf || t.family == 6) t.model |= static_cast<int>((signature >> 12) & 0xf0);
  if (t.family == 0xf) t.family += static_cast<int>((signature >> 20) & 0xff);
  t.microarchitecture = microarchitecture_of(t);

  std::string brand;
  for (std::uint32_t leaf = 0x80000002; leaf <= 0x80000004; ++leaf) {
    const Registers r = cpuid(leaf, 0);
    std::array<char, sizeof r> part;
    std::memcpy(part.data(), &r, sizeof r);
    brand.append(part.data(), part.size());
  }
  t.model_name = trim({brand.data(), std::strlen(brand.c_str())});

  t.features = cpu_features();
  derive_vectors(t);
}

struct Cache {
  std::int64_t bytes = 0;
  int ways = 0, line = 0;
};

/// From the processor's own description: leaf 4 (Intel) or 0x8000001D (AMD), which share their format.
Cache cache_from_cpuid(const Target& t, int level) {
  const std::uint32_t leaf = t.vendor == kAmd ? 0x8000001Du : 4u;
  for (std::uint32_t i = 0; i < 16; ++i) {
    const Registers r = cpuid(leaf, i);
    const std::uint32_t kind = r.eax & 0x1f;  // 1: data, 3: unified
    if (kind == 0) break;
    if (kind == 2 || static_cast<int>(r.eax >> 5 & 7) != level) continue;
    Cache c;
    c.line = static_cast<int>(r.ebx & 0xfff) + 1;
    c.ways = static_cast<int>(r.ebx >> 22) + 1;
    c.bytes = std::int64_t{c.ways} * (static_cast<int>(r.ebx >> 12 & 0x3ff) + 1) * c.line * (std::int64_t{r.ecx} + 1);
    return c;
  }
  return {};
}

void read_topology(Target& t) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0)
    throw Error(ErrorCode::Unsupported, "hwloc cannot describe this machine", "hwloc_topology_init");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw, &hwloc_topology_destroy);
  if (hwloc_topology_load(raw) != 0)
    throw Error(ErrorCode::Unsupported, "hwloc cannot describe this machine", "hwloc_topology_load");

  t.logical_cpus = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_PU));
  const int cores = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
  t.physical_cores = cores > 0 ? cores : t.logical_cpus;

  std::array<Cache, 4> caches;
  for (hwloc_obj_t o = hwloc_get_obj_by_type(raw, HWLOC_OBJ_PU, 0); o != nullptr; o = o->parent) {
    if (hwloc_obj_type_is_dcache(o->type) == 0) continue;
    const auto& a = o->attr->cache;
    if (a.depth < caches.size())
      caches[a.depth] = {static_cast<std::int64_t>(a.size), std::max(0, a.associativity), static_cast<int>(a.linesize)};
  }
  for (int level = 1; level <= 3; ++level) {
    Cache& c = caches[static_cast<std::size_t>(level)];
    if (c.bytes == 0) c = cache_from_cpuid(t, level);
  }
  t.l1d_bytes = caches[1].bytes;
  t.l2_bytes = caches[2].bytes;
  t.l3_bytes = caches[3].bytes;
  t.l1d_ways = caches[1].ways;
  if (caches[1].line > 0) t.line_bytes = caches[1].line;
}

/// One line of the text form.
struct Field {
  const char* name;
  std::function<std::string(const Target&)> get;
  std::function<bool(Target&, const std::string&)> set;
};
template <class T>
Field number(const char* name, T Target::* member) {
  return {name,
          [=](const Target& t) {
            std::array<char, 64> text;
            return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), t.*member).ptr);
          },
          [=](Target& t, const std::string& s) {
            const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), t.*member);
            return error == std::errc() && end == s.data() + s.size();
          }};
}
Field text(const char* name, std::string Target::* member) {
  return {name, [=](const Target& t) { return t.*member; },
          [=](Target& t, const std::string& s) {
            t.*member = s;
            return true;
          }};
}
std::vector<Field> fields() {
  return {
      text("vendor", &Target::vendor),
      text("model_name", &Target::model_name),
      text("microarchitecture", &Target::microarchitecture),
      number("family", &Target::family),
      number("model", &Target::model),
      number("stepping", &Target::stepping),
      {"features",
       [](const Target& t) {
         std::string s;
         for (const std::string& f : t.features) s += (s.empty() ? "" : " ") + f;
         return s;
       },
       [](Target& t, const std::string& s) {
         std::istringstream in(s);
         t.features.clear();
         for (std::string f; in >> f;) t.features.push_back(f);
         return std::is_sorted(t.features.begin(), t.features.end());
       }},
      number("vector_bytes", &Target::vector_bytes),
      number("vector_registers", &Target::vector_registers),
      number("l1d_bytes", &Target::l1d_bytes),
      number("l2_bytes", &Target::l2_bytes),
      number("l3_bytes", &Target::l3_bytes),
      number("l1d_ways", &Target::l1d_ways),
      number("line_bytes", &Target::line_bytes),
      number("physical_cores", &Target::physical_cores),
      number("logical_cpus", &Target::logical_cpus),
      number("peak_flops_per_second", &Target::peak_flops_per_second),
      number("memory_bytes_per_second", &Target::memory_bytes_per_second),
  };
}

}  // namespace

bool Target::has(std::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

Target detect() {
  Target t;
  read_processor(t);
  read_topology(t);
  return t;
}

Target limit_vector_bytes(const Target& target, int vector_bytes) {
  if (vector_bytes != 16 && vector_bytes != 32 && vector_bytes != 64) {
    throw Error(ErrorCode::InvalidArgument, "vectors of " + std::to_string(vector_bytes) + " bytes do not exist",
                "vector_bytes", "use 16, 32 or 64");
  }
  Target t = target;
  std::erase_if(t.features, [&](const std::string& name) { return vector_bytes_of(name) > vector_bytes; });
  derive_vectors(t);
  return t;
}

std::string fingerprint(const Target& t) {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over the extensions
  for (const std::string& f : t.features) {
    for (const char c : f + ' ') hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  std::ostringstream out;
  out << t.microarchitecture << "-f" << t.family << "m" << t.model << "-v" << t.vector_bytes << "-l1d"
      << t.l1d_bytes / 1024 << "k-l2" << t.l2_bytes / 1024 << "k-l3" << t.l3_bytes / 1024 << "k-" << std::hex
      << (hash & 0xffffffffu);
  return out.str();
}

std::string serialise(const Target& target) {
  std::string out;
  for (const Field& f : fields()) out += std::string(f.name) + ' ' + f.get(target) + '\n';
  return out;
}

Target parse_target(std::string_view text) {
  Target t;
  const std::vector<Field> all = fields();
  std::vector<bool> seen(all.size(), false);
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const std::size_t space = std::min(line.find(' '), line.size());
    const auto f =
        std::find_if(all.begin(), all.end(), [&](const Field& x) { return line.compare(0, space, x.name) == 0; });
    if (f == all.end() || !f->set(t, space < line.size() ? line.substr(space + 1) : "")) {
      throw Error(ErrorCode::InvalidArgument, "not a line of a target description: '" + line + "'", "target");
    }
    seen[static_cast<std::size_t>(f - all.begin())] = true;
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing != seen.end()) {
    throw Error(
        ErrorCode::InvalidArgument,
        std::string("a target description lacks '") + all[static_cast<std::size_t>(missing - seen.begin())].name + "'",
        "target");
  }
  return t;
}

}  // namespace temper::target
