#include "temper/graph/reference.h"

#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "temper/graph/definition.h"
#include "temper/ir/oracle.h"
#include "temper/ir/strides.h"
#include "temper/ops/registry.h"
#include "temper/support/error.h"

namespace temper::graph {
namespace {

using Contents = std::vector<std::optional<ops::TensorValue>>;

/// Constants and inputs; everything else is still open.
Contents start(const Graph& graph, const NamedTensors& inputs) {
  Contents contents;
  for (const Value& value : graph.values) contents.push_back(value.data);
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    const auto given = inputs.find(value.name);
    const ops::TensorType expected{value.dtype, graph.sizes(id)};
    if (given == inputs.end() || given->second.type != expected) {
      throw Error(ErrorCode::InvalidArgument, "input '" + value.name + "' must be given as " + expected.text());
    }
    contents[static_cast<std::size_t>(id)] = given->second;
  }
  return contents;
}

std::vector<ops::TensorValue> finish(const Graph& graph, Contents& contents) {
  std::vector<ops::TensorValue> outputs;
  for (const ValueId id : graph.outputs) outputs.push_back(*contents[static_cast<std::size_t>(id)]);
  return outputs;
}

/// Where a program's values lie, as a plan would have it: parts inside of their wholes.
class ProgramMemory {
 public:
  ProgramMemory(const Program& program, const NamedTensors& inputs) : program_(program) {
    const Contents contents = start(program.graph, inputs);
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (contents[i]) write(static_cast<ValueId>(i), *contents[i]);
    }
  }

  /// Whether steps have written all of it.
  bool holds(ValueId id) const { return is_there(program_, id, written_); }

  void write(ValueId id, const ops::TensorValue& value) {
    const std::span<std::byte> memory = bytes(id);
    const std::size_t width = width_of(id);
    const std::vector<std::size_t> places = places_of(id);
    for (std::size_t i = 0; i < places.size(); ++i)
      std::memcpy(&memory[places[i] * width], value.bytes->data() + i * width, width);
    written_.insert(storage_of(program_, id));
  }

  ops::TensorValue read(ValueId id) {
    const std::span<const std::byte> memory = bytes(id);
    const std::size_t width = width_of(id);
    const std::vector<std::size_t> places = places_of(id);
    std::vector<std::byte> dense(places.size() * width);
    for (std::size_t i = 0; i < places.size(); ++i)
      std::memcpy(dense.data() + i * width, &memory[places[i] * width], width);
    return {{program_.graph.value(id).dtype, program_.graph.sizes(id)},
            std::make_shared<const std::vector<std::byte>>(std::move(dense))};
  }

  /// From the first element to the last, gaps included.
  std::span<std::byte> bytes(ValueId id) {
    const Location location = location_of(program_, id);
    const std::size_t width = width_of(id);
    std::vector<std::byte>& owner = contents_[location.owner];
    owner.resize(static_cast<std::size_t>(element_count(program_.graph.sizes(location.owner))) * width);
    const std::int64_t span = ir::span_elements(program_.graph.sizes(id), strides_of(id));
    return std::span(owner).subspan(static_cast<std::size_t>(location.offset) * width,
                                    static_cast<std::size_t>(span) * width);
  }

 private:
  std::size_t width_of(ValueId id) const { return static_cast<std::size_t>(ir::bytes(program_.graph.value(id).dtype)); }
  Sizes strides_of(ValueId id) const {
    const Sizes& given = program_.graph.value(id).strides;
    return given.empty() ? ir::row_major_strides(program_.graph.sizes(id)) : given;
  }
  /// Of each element, row-major, counted in elements from the first one.
  std::vector<std::size_t> places_of(ValueId id) const {
    return ir::element_places(program_.graph.sizes(id), strides_of(id));
  }

  const Program& program_;
  std::map<ValueId, std::vector<std::byte>> contents_;  ///< by owner
  std::set<ValueId> written_;                           ///< storages
};

}  // namespace

std::vector<ops::TensorValue> evaluate(const Graph& graph, const NamedTensors& inputs) {
  Contents contents = start(graph, inputs);
  for (const Node& node : graph.nodes) {
    std::map<ValueId, ops::Operand> operands;
    ops::TensorValue reordered;
    const ops::Node bound = bind(node, [&](ValueId id) {
      const auto [entry, is_new] = operands.try_emplace(id);
      if (is_new) {
        entry->second = placeholder_operand(graph, id, "in" + std::to_string(operands.size() - 1));
        entry->second.value = &*contents[static_cast<std::size_t>(id)];
        if (node.reads_nchw && id == node.inputs[0]) {
          reordered = transposed(*entry->second.value, kToNhwc);
          entry->second = {ir::placeholder("nhwc", ops::extents(reordered.type.shape), reordered.type.dtype),
                           &reordered};
        }
      }
      return entry->second;
    });
    std::vector<ops::TensorValue> results = at_node(node, [&] { return ops::fold(bound); });
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kAbsent) contents[static_cast<std::size_t>(node.outputs[i])] = std::move(results.at(i));
    }
  }
  return finish(graph, contents);
}

std::vector<ops::TensorValue> evaluate(const Program& program, const NamedTensors& inputs) {
  ProgramMemory memory(program, inputs);
  for (const Step& step : program.steps) {
    const Task& task = program.tasks[static_cast<std::size_t>(step.task)];
    ir::Inputs bytes;
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      TEMPER_CHECK(memory.holds(step.operands[i]), "step '" + step.name + "' runs before its operands are there");
      bytes[task.operands[i]] = memory.bytes(step.operands[i]);
    }
    ir::Oracle oracle(task.work.compute, bytes);
    std::vector<ops::TensorValue> results;
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const ValueId id = step.outputs[i];
      results.push_back(ops::TensorValue::from_numbers({program.graph.value(id).dtype, program.graph.sizes(id)},
                                                       oracle.all(*task.work.compute.outputs[i])));
    }
    for (std::size_t i = 0; i < step.outputs.size(); ++i) memory.write(step.outputs[i], results[i]);
  }
  std::vector<ops::TensorValue> outputs;
  for (const ValueId id : program.graph.outputs) outputs.push_back(memory.read(id));
  return outputs;
}

}  // namespace temper::graph
