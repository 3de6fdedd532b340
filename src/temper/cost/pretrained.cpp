#include "temper/cost/pretrained.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "temper/support/error.h"
#include "temper/support/hash.h"
#include "temper/support/output_file.h"

namespace temper::cost {
namespace {

constexpr std::string_view kTitle = "temper-cost-model";

/// Reads the head of a file line by line: `NAME VALUE ...`.
class Head {
 public:
  Head(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  /// Leaves the rest of the line to be read word by word.
  std::string line() {
    const std::size_t end = bytes_.find('\n');
    if (end == std::string_view::npos) corrupt();
    rest_ = bytes_.substr(0, end);
    bytes_.remove_prefix(end + 1);
    return word();
  }
  std::string word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    std::string result(rest_.substr(0, end));
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return result;
  }
  template <class Number, class... Base>
  Number number(Base... base) {
    const std::string text = word();
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) corrupt();
    return value;
  }
  std::string rest() const { return std::string(rest_); }
  std::string_view behind() const { return bytes_; }
  [[noreturn]] void corrupt() const {
    throw Error(ErrorCode::Corrupt, "this is no cost model, or it is damaged", where_,
                "get the file again, or make one with `temper model train`");
  }

 private:
  std::string_view bytes_, rest_;
  const std::string& where_;
};

}  // namespace

std::uint64_t task_hash(std::string_view key) { return hash_text(key); }

PretrainedModel::PretrainedModel(Card card, std::vector<Member> members)
    : card_(std::move(card)), members_(std::move(members)) {
  std::ranges::sort(card_.tasks);
  for (const Member& member : members_)
    TEMPER_CHECK(member.model != nullptr && member.model->trained(), "members of a pretrained model are trained");
}

bool PretrainedModel::knows(std::uint64_t task) const { return std::ranges::binary_search(card_.tasks, task); }

std::vector<double> PretrainedModel::predict(const FeatureMatrix& rows) const {
  std::vector<double> sum(rows.rows(), 0);
  for (const Member& member : members_) {
    const std::vector<double> scores = member.model->predict(rows);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += member.weight * scores[i];
  }
  return sum;
}

std::string PretrainedModel::serialise() const {
  std::ostringstream head;
  head << kTitle << " " << kModelSchema << "\ntarget " << card_.target << "\nvector_bytes " << card_.vector_bytes
       << "\nrows " << card_.rows << "\n";
  for (const std::uint64_t task : card_.tasks) head << "task " << to_hex(task) << "\n";
  for (const std::string& column : card_.columns) head << "column " << column << "\n";
  std::string payload;
  for (const Member& member : members_) {
    const std::string bytes = member.model->serialise();
    head << "member " << member.kind << " " << member.weight << " " << bytes.size() << "\n";
    payload += bytes;
  }
  const std::string hash = to_hex(hash_text(head.str() + payload));
  head << "payload " << payload.size() << " " << hash << "\n";
  return head.str() + payload;
}

PretrainedModel PretrainedModel::parse(std::string_view bytes, const std::string& where) {
  Head head(bytes, where);
  if (head.line() != kTitle) head.corrupt();
  if (const int schema = head.number<int>(); schema != kModelSchema) {
    throw Error(ErrorCode::Version, "this cost model has schema " + std::to_string(schema), where,
                "this Temper reads schema " + std::to_string(kModelSchema) + "; train the model anew");
  }
  Card card;
  struct Part {
    std::string kind;
    double weight;
    std::size_t bytes;
  };
  std::vector<Part> parts;
  std::string_view before_payload;
  std::size_t payload_size = 0;
  std::uint64_t payload_hash = 0;
  for (bool reading = true; reading;) {
    const std::string_view from_here = head.behind();
    const std::string name = head.line();
    if (name == "target") {
      card.target = head.rest();
    } else if (name == "vector_bytes") {
      card.vector_bytes = head.number<int>();
    } else if (name == "rows") {
      card.rows = head.number<std::uint64_t>();
    } else if (name == "task") {
      card.tasks.push_back(head.number<std::uint64_t>(16));
    } else if (name == "column") {
      card.columns.push_back(head.rest());
    } else if (name == "member") {
      std::string kind = head.word();
      const auto weight = head.number<double>();
      parts.push_back({std::move(kind), weight, head.number<std::size_t>()});
    } else if (name == "payload") {
      before_payload = bytes.substr(0, bytes.size() - from_here.size());
      payload_size = head.number<std::size_t>();
      payload_hash = head.number<std::uint64_t>(16);
      reading = false;
    } else {
      head.corrupt();
    }
  }
  std::string_view payload = head.behind();
  if (payload.size() != payload_size || hash_text(std::string(before_payload) + std::string(payload)) != payload_hash)
    head.corrupt();
  std::vector<Member> members;
  for (const Part& part : parts) {
    if (part.bytes > payload.size()) head.corrupt();
    members.push_back({part.kind, part.weight, cost_model_info(part.kind).load(payload.substr(0, part.bytes))});
    payload.remove_prefix(part.bytes);
  }
  if (members.empty() || card.columns.empty()) head.corrupt();
  return PretrainedModel(std::move(card), std::move(members));
}

void PretrainedModel::save(const std::filesystem::path& file) const {
  OutputFile output(file, "the cost model");
  output.write(serialise());
  output.keep();
}

PretrainedModel PretrainedModel::load(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw Error(ErrorCode::NotFound, "the cost model cannot be read", file.string(),
                "give a file that `temper model train` wrote");
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return parse(bytes, file.string());
}

ColumnMap::ColumnMap(std::span<const std::string> wanted, std::span<const std::string> given) : row_(wanted.size()) {
  std::unordered_map<std::string_view, std::ptrdiff_t> at;
  for (std::size_t i = 0; i < given.size(); ++i) at.emplace(given[i], static_cast<std::ptrdiff_t>(i));
  for (const std::string& name : wanted) {
    const auto found = at.find(name);
    const bool of_design = name.starts_with("knob.") || name.starts_with("design.");
    if (found == at.end() && !of_design) {
      throw Error(ErrorCode::Unsupported, "the cost model wants the feature '" + name + "', which there is not",
                  "cost model", "it was made by another version of Temper; train it anew with `temper model train`");
    }
    from_.push_back(found == at.end() ? -1 : found->second);
  }
}

void ColumnMap::append(std::span<const float> given, FeatureMatrix& wanted) const {
  for (std::size_t i = 0; i < from_.size(); ++i)
    row_[i] = from_[i] < 0 ? kMissing : given[static_cast<std::size_t>(from_[i])];
  wanted.append(row_);
}

}  // namespace temper::cost
