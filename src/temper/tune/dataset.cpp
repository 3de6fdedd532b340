#include "temper/tune/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "temper/ops/registry.h"
#include "temper/support/error.h"
#include "temper/support/hash.h"
#include "temper/support/output_file.h"
#include "temper/support/random.h"
#include "temper/tune/task_space.h"
#include "temper/tune/version.h"

namespace temper::tune {
namespace {

constexpr std::string_view kTitle = "temper-dataset";

void print_definition(std::string& out, std::string_view algorithm, const ir::Compute& compute) {
  out += algorithm.empty() ? "definition\n" : fmt::format("definition {}\n", algorithm);
  std::istringstream lines(ir::print(compute));
  for (std::string line; std::getline(lines, line);) out += "|" + line + "\n";
}

/// Reads the lines of a dataset one after another.
class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  Dataset parse() {
    Dataset dataset;
    if (!next() || word() != kTitle) fail("this is not a dataset", "the first line is 'temper-dataset 1'");
    if (number<int>() != kDatasetSchema) {
      fail("this dataset has another schema", fmt::format("this Temper reads schema {}", kDatasetSchema));
    }
    if (!next() || word() != "target") fail("expected the target", "the second line is 'target FINGERPRINT'");
    dataset.target = rest_;
    while (next()) {
      if (word() != "task") fail("expected a task", "each task begins with 'task KEY'");
      dataset.tasks.push_back(parse_task());
      keys_.insert(dataset.tasks.back().task.key.text());
    }
    return dataset;
  }

 private:
  DatasetTask parse_task() {
    DatasetTask result;
    Task& task = result.task;
    task.name = rest_;
    task.key = record::TaskKey::parse(rest_);
    if (keys_.contains(task.key.text())) fail("this task is there twice", "merge its candidates");
    for (const auto& [name, value] : task.key.fields) {
      if (name == "threads") rest_ = value, task.threads = number<int>();
      if (name == "constants") task.cold_constants = true;
    }
    expect("flops");
    task.flops = number<double>();
    expect("definition");
    task.compute = parse_definition();
    task.tolerance_factor = ops::tolerance_factor(task.compute);
    task.definition_hash = ir::structural_hash(task.compute);
    std::string first = word();
    while (first == "definition") {
      std::string algorithm(rest_);
      task.alternatives.push_back({std::move(algorithm), parse_definition()});
      first = word();
    }
    for (; first == "design"; require_next(), first = word()) {
      DatasetDesign& design = result.designs.emplace_back();
      design.name = word();
      while (!rest_.empty()) design.knobs.push_back(word());
    }
    for (; first == "=" || first == "!"; require_next(), first = word())
      result.rows.push_back(parse_row(result, first == "="));
    if (first != "end") fail("'" + first + "' stands where a candidate or the end of the task should", "");
    if (number<std::size_t>() != result.rows.size()) fail("candidates of this task are missing", "is the file whole?");
    return result;
  }

  /// Leaves the first line behind it to be read word by word.
  ir::Compute parse_definition() {
    std::string text;
    const std::size_t first = line_;
    for (require_next(); rest_.starts_with('|'); require_next()) text += std::string(rest_.substr(1)) + "\n";
    try {
      return ir::parse_compute(text);
    } catch (const Error& error) {
      line_ = first;
      fail(error.message(), "definitions are as `temper explain --stage definition` prints them");
    }
  }

  DatasetRow parse_row(const DatasetTask& task, bool ok) {
    DatasetRow row;
    row.design = number<std::size_t>();
    if (row.design >= task.designs.size()) fail("there is no design of this number", "the task lists its designs");
    for (std::size_t k = 0; k < task.designs[row.design].knobs.size(); ++k)
      row.values.push_back(number<std::int64_t>());
    if (ok) {
      row.seconds = number<double>();
      if (!(row.seconds > 0)) fail("a time must be above 0", "");
    } else {
      row.failure = record::parse_failure_kind(word());
    }
    if (!rest_.empty()) fail("there is more on this line than a candidate has", "");
    return row;
  }

  bool next() {
    if (at_ >= text_.size()) return false;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    rest_ = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++line_;
    return true;
  }
  void require_next() {
    if (!next()) fail("the text ends within a task", "is the file whole?");
  }
  void expect(std::string_view name) {
    require_next();
    if (word() != name) fail("expected '" + std::string(name) + "'", "");
  }
  std::string word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    std::string result(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return result;
  }
  template <class Number>
  Number number() {
    const std::string text = word();
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) fail("'" + text + "' is not a number", "");
    return value;
  }
  [[noreturn]] void fail(const std::string& what, const std::string& hint) const {
    throw Error(ErrorCode::InvalidArgument, what, fmt::format("{}, line {}", where_, line_), hint);
  }

  std::string_view text_, rest_;
  const std::string& where_;
  std::size_t at_ = 0, line_ = 0;
  std::set<std::string> keys_;
};

}  // namespace

record::CandidateRecord candidate_of(const DatasetTask& task, const DatasetRow& row) {
  const DatasetDesign& design = task.designs[row.design];
  record::CandidateRecord candidate;
  candidate.design = design.name;
  for (std::size_t k = 0; k < row.values.size(); ++k) candidate.knobs.emplace_back(design.knobs[k], row.values[k]);
  return candidate;
}

std::string print(const Dataset& dataset) {
  std::string out = fmt::format("{} {}\ntarget {}\n", kTitle, kDatasetSchema, dataset.target);
  for (const DatasetTask& task : dataset.tasks) {
    out += fmt::format("task {}\nflops {:.9g}\n", task.task.key.text(), task.task.flops);
    print_definition(out, "", task.task.compute);
    for (const ops::Alternative& other : task.task.alternatives) print_definition(out, other.algorithm, other.compute);
    for (const DatasetDesign& design : task.designs)
      out += fmt::format("design {} {}\n", design.name, fmt::join(design.knobs, " "));
    for (const DatasetRow& row : task.rows) {
      const std::string result =
          row.ok() ? fmt::format("{:.4e}", row.seconds) : std::string(record::to_string(row.failure));
      out += fmt::format("{} {} {}{}{}\n", row.ok() ? '=' : '!', row.design, fmt::join(row.values, " "),
                         row.values.empty() ? "" : " ", result);
    }
    out += fmt::format("end {}\n", task.rows.size());
  }
  return out;
}

Dataset parse_dataset(std::string_view text, const std::string& where) { return Parser(text, where).parse(); }

void save(const Dataset& dataset, const std::filesystem::path& file) {
  OutputFile output(file, "the dataset");
  output.write(print(dataset));
  output.keep();
}

Dataset load_dataset(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw Error(ErrorCode::NotFound, "the dataset cannot be read", file.string(), "`temper dataset collect` makes one");
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return parse_dataset(text, file.string());
}

std::vector<search::Candidate> draw_sample(const search::SpaceIndex& index, std::size_t count, const Task& task,
                                           std::uint64_t seed) {
  RandomStream random(hash_combine(seed, hash_text(task.key.text())));
  std::vector<search::Candidate> sample;
  if (index.size() <= 2 * count) {  // most of them: a permutation, where drawing would meet the same ones again
    std::vector<std::uint64_t> numbers(index.size());
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
    random.shuffle(numbers);
    numbers.resize(std::min<std::size_t>(numbers.size(), count));
    for (const std::uint64_t number : numbers) sample.push_back(index.at(number));
    return sample;
  }
  search::CandidateSet drawn;
  while (sample.size() < count) {
    const search::Candidate candidate = index.sample(random);
    if (drawn.insert(candidate).second) sample.push_back(candidate);
  }
  return sample;
}

Dataset dataset_of(const store::Store& store, std::span<const Task> tasks, const target::Target& target,
                   std::size_t per_task, std::uint64_t seed) {
  Dataset dataset;
  dataset.target = target::fingerprint(target);
  for (const Task& task : tasks) {
    const TaskSpace space(task, target, space::builtin_templates());
    const search::SpaceIndex index(space);
    DatasetTask result;
    result.task = task;
    for (const search::Design& design : space.designs()) {
      DatasetDesign& named = result.designs.emplace_back();
      named.name = design.name;
      for (const search::Knob& knob : design.knobs) named.knobs.push_back(knob.name);
    }
    search::CandidateMap<record::Measurement> known;
    for (const record::Record& record : store.all(task.key, dataset.target)) {
      if (!is_current(record, task.definition_hash)) continue;
      try {
        known.insert_or_assign(search::from_record(space, record.candidate), record.measurement);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::NotFound) throw;  // of another space than today's
      }
    }
    for (const search::Candidate& candidate : draw_sample(index, per_task, task, seed)) {
      const auto found = known.find(candidate);
      if (found == known.end()) continue;
      const record::Measurement& measurement = found->second;
      DatasetRow row{static_cast<std::size_t>(candidate.design), search::values(space, candidate), measurement.failure,
                     measurement.ok() ? measurement.min_seconds : 0};
      result.rows.push_back(std::move(row));
    }
    if (!result.rows.empty()) dataset.tasks.push_back(std::move(result));
  }
  return dataset;
}

}  // namespace temper::tune
