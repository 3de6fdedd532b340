#include "temper/graph/structural_hash.h"

#include <span>
#include <string>
#include <vector>

#include "temper/support/hash.h"

namespace temper::graph {
namespace {

class Hasher {
 public:
  explicit Hasher(const Graph& graph) : graph_(graph), numbers_(graph.values.size(), 0) {}

  std::uint64_t run() {
    list(graph_.inputs);
    add(graph_.nodes.size());
    for (const Node& node : graph_.nodes) {
      text(node.op);
      add(static_cast<std::uint64_t>(node.opset));
      text(node.attributes.canonical());
      add(static_cast<std::uint64_t>(node.layout) * 2 + (node.reads_nchw ? 1 : 0));
      list(node.inputs);
      list(node.outputs);
    }
    list(graph_.outputs);
    return hash_;
  }

 private:
  void add(std::uint64_t word) { hash_ = hash_combine(hash_, word); }
  void text(std::string_view text) { add(hash_text(text)); }

  void list(const std::vector<ValueId>& ids) {
    add(ids.size());
    for (const ValueId id : ids) value(id);
  }

  /// By its number in the order of first appearance; what it is, when it appears first.
  void value(ValueId id) {
    if (id == kAbsent) return add(0);
    std::uint64_t& number = numbers_[static_cast<std::size_t>(id)];
    if (number != 0) return add(number);
    number = ++seen_;
    add(number);
    const Value& value = graph_.value(id);
    add(static_cast<std::uint64_t>(value.dtype) * 2 + (value.is_constant() ? 1 : 0));
    const Sizes sizes = graph_.sizes(id);
    add(sizes.size());
    for (const std::int64_t size : sizes) add(static_cast<std::uint64_t>(size));
    if (value.is_constant() && !ir::is_float(value.dtype))
      add(hash_bytes(std::as_bytes(std::span(*value.data->bytes))));
  }

  const Graph& graph_;
  std::vector<std::uint64_t> numbers_;  ///< by value, from 1 on; 0: not seen yet
  std::uint64_t seen_ = 0, hash_ = 0;
};

}  // namespace

std::uint64_t structural_hash(const Graph& graph) { return Hasher(graph).run(); }

}  // namespace temper::graph
