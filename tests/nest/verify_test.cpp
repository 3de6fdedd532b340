// The judge: what it refuses by name, and, over thousands of random mutations of right programs, that whatever it lets
// through runs without a fault and gets the oracle's result.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "programs.h"
#include "temper/ir/oracle.h"
#include "temper/nest/interpreter.h"
#include "temper/support/random.h"

namespace temper::nest {
namespace {

using testing::scheduled;

std::string judged(const Program& program, const schedule::Schedule& s) {
  try {
    verify(program, s);
  } catch (const schedule::ScheduleError& error) {
    return error.rule();
  }
  return "accepted";
}

/// Visits every list of nodes, outermost first.
void for_each_block(std::vector<Node>& nodes, const std::function<void(std::vector<Node>&)>& visit) {
  visit(nodes);
  for (Node& node : nodes) {
    if (auto* loop = std::get_if<Loop>(&node.value)) for_each_block(loop->body, visit);
    if (auto* loop = std::get_if<FusedLoop>(&node.value)) for_each_block(loop->body, visit);
    if (auto* branch = std::get_if<Branch>(&node.value)) {
      for (Branch::Segment& segment : branch->segments) for_each_block(segment.body, visit);
    }
  }
}
template <class T>
std::vector<T*> all(Program& program) {
  std::vector<T*> out;
  for (Phase& phase : program.phases) {
    for_each_block(phase.body, [&](std::vector<Node>& nodes) {
      for (Node& node : nodes) {
        if (auto* value = std::get_if<T>(&node.value)) out.push_back(value);
      }
    });
  }
  return out;
}

constexpr const char* kMatmul = R"(placeholder A[m: 7, k: 6]: f32
constant B[k: 6, n: 10]: f32
stage C[m: 7, n: 10]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 6]
  body A[m, k] * B[k, n]
stage E[m: 7, n: 10]: f32
  body max(C[m, n], 0.0)
output E
)";
constexpr const char* kTile = R"(cache_read B C
set_layout B_cache n/8%0+0,k/1%0+0,n/1%8+0
prepared B_cache
split E m 3 balance
split E n 8 mask
reorder E n.0,m.0,m.1,n.1
fuse E n.0,m.0
compute_at C E n.0*m.0
set_scope C register
vectorize E n.1
unroll E m.1
parallel E n.0*m.0
split C k 4 peel
split C n 4 round_up
reorder C k.0,k.1,m,n.0,n.1
vectorize C n.1
unroll C k.1
unroll C m
unroll C n.0
)";
TEST(Verify, NothingIsPrefetchedThatIsNotStored) {
  const schedule::Schedule s =
      scheduled(kMatmul, "cache_read A C\ncompute_at A_cache C k\nprefetch C E n 2\nprefetch B C k 1\n");
  Program program = build(s);
  EXPECT_EQ(judged(program, s), "accepted");
  const auto local = std::find_if(program.storages.begin(), program.storages.end(),
                                  [](const Storage& storage) { return storage.kind == StorageKind::Local; });
  ASSERT_NE(local, program.storages.end());
  const std::vector<Prefetch*> prefetches = all<Prefetch>(program);
  ASSERT_EQ(prefetches.size(), 2U);
  prefetches.back()->storage = static_cast<int>(local - program.storages.begin());
  EXPECT_EQ(judged(program, s), "NotStored");
}

constexpr const char* kWindow = R"(placeholder A[c: 2, x: 9]: f32
constant W[c: 2, k: 3]: f32
stage P[c: 2, x: 9]: f32
  body A[c, x] + 1.0
stage C[x: 9]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [c: 2, k: 3]
  where x + k - 1 >= 0 && x + k - 1 < 9
  init 2.0
  body P[c, x + k - 1] * W[c, k]
output C
)";
constexpr const char* kParity = R"(placeholder A[x: 5]: f32
constant W[k: 3]: f32
stage C[x: 10]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 3]
  where (x + 1 - k) % 2 == 0, (x + 1 - k) // 2 >= 0 && (x + 1 - k) // 2 < 5
  body A[(x + 1 - k) // 2] * W[k]
output C
)";
constexpr const char* kRows = R"(placeholder X[i: 4, j: 11]: f32
stage top[i: 4]: f32
  reducer max associative commutative idempotent identity -inf combine max(#0, #1)
  over [ja: 11]
  body X[i, ja]
stage e[i: 4, j: 11]: f32
  body X[i, j] - top[i]
stage total[i: 4]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [jb: 11]
  body e[i, jb]
stage out[i: 4, j: 11]: f32
  body e[i, j] * total[i]
output out
)";

struct Example {
  const char* name;
  const char* compute;
  std::string trace;
};
const std::vector<Example>& examples() {
  static const std::vector<Example> list{
      {"matmul", kMatmul, "split E m 4 shift_inwards\nsplit C k 4 peel\nreorder C k.0,m,n,k.1"},
      {"tile", kMatmul, kTile},
      {"partials", kMatmul,
       "compute_at C E m\nset_scope C register\nunroll E n\nsplit C k 4 mask\nvectorize C k.1\nunroll C n"},
      {"serial window", kWindow, "compute_inline P"},
      {"unrolled window", kWindow,
       "split C x 4 balance\nreorder C x.0,c,k,x.1\nunroll C k\nunroll C x.1\ncompute_at P C x.0\nset_scope P "
       "register\n"
       "unroll P c\nunroll P x"},
      {"lane window", kWindow,
       "split C x 8 mask\nreorder C c,x.0,k,x.1\nvectorize C x.1\ncompute_at P C c\nsplit P x 4 mask\nvectorize P x.1"},
      {"parity", kParity, "split C x 2 peel\nreorder C k,x.0,x.1\nunroll C x.1"},
      {"rows", kRows,
       "parallel out i\ncompute_at top out i\ncompute_at total out i\ncompute_at e out i\nsplit e j 8 mask\nvectorize "
       "e j.1"},
      {"layout", kRows, "set_layout e j/4%0+1,i/1%0+0,j/1%4+0\nsplit total jb 4 peel\nreorder total jb.0,i,jb.1"},
  };
  return list;
}

/// What the interpreter makes of a program: empty when it is the oracle's result.
std::string run(const Program& program, const ir::Compute& compute) {
  std::vector<std::pair<std::string, std::vector<float>>> data;
  ir::Inputs inputs;
  RandomStream random(1);
  for (const ir::StagePtr& stage : compute.stages) {
    if (stage->kind != ir::StageKind::Placeholder) continue;
    std::size_t size = 1;
    for (std::int64_t extent : stage->shape()) size *= static_cast<std::size_t>(extent);
    std::vector<float> values(size);
    for (float& v : values) v = static_cast<float>(random.uniform_int(-9, 9));
    data.emplace_back(stage->name, std::move(values));
  }
  for (const auto& [name, values] : data) inputs[name] = std::as_bytes(std::span(values));
  try {
    const Interpretation got = interpret(program, inputs);
    ir::Oracle oracle(compute, inputs);
    const std::vector<double> want = oracle.all(*compute.outputs[0]);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (!(std::abs(got.outputs[0][0][i] - want[i]) <= 1e-9 * (1 + std::abs(want[i]))))
        return "element " + std::to_string(i) + " is " + std::to_string(got.outputs[0][0][i]) + ", not " +
               std::to_string(want[i]);
    }
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Verify, AcceptsRightProgramsAndTheInterpreterRunsThem) {
  for (const Example& e : examples()) {
    const schedule::Schedule s = scheduled(e.compute, e.trace);
    const Program program = build(s);
    EXPECT_EQ(judged(program, s), "accepted") << e.name << "\n" << print(program);
    EXPECT_EQ(run(program, ir::parse_compute(e.compute)), "") << e.name << "\n" << print(program);
  }
}

// ---- random mutations

/// One random change of the program; returns what it was, empty when it found nothing to change.
std::string mutate(Program& program, RandomStream& random) {
  const auto statements = all<Statement>(program);
  const auto loops = all<Loop>(program);
  const auto branches = all<Branch>(program);
  const auto nudge = [&] { return random.chance(0.5) ? 1 : -1; };
  switch (random.uniform_int(0, 13)) {
    case 0: {
      Statement& s = *random.pick(statements);
      if (s.axes.empty()) return {};
      s.axes[static_cast<std::size_t>(random.below(s.axes.size()))].constant += nudge();
      return "an axis moved";
    }
    case 1: {
      Statement& s = *random.pick(statements);
      Affine& axis = s.axes[static_cast<std::size_t>(random.below(s.axes.size()))];
      if (axis.terms.empty()) return {};
      axis.terms[static_cast<std::size_t>(random.below(axis.terms.size()))].coefficient += nudge();
      std::erase_if(axis.terms, [](const analysis::Term& t) { return t.coefficient == 0; });
      return "a stride changed";
    }
    case 2: {
      Statement& s = *random.pick(statements);
      if (s.conditions.empty()) return {};
      s.conditions.erase(s.conditions.begin() + static_cast<std::ptrdiff_t>(random.below(s.conditions.size())));
      return "a condition dropped";
    }
    case 3: {
      Statement& s = *random.pick(statements);
      if (s.conditions.empty()) return {};
      s.conditions[static_cast<std::size_t>(random.below(s.conditions.size()))].form.constant += nudge();
      return "a condition moved";
    }
    case 4: {
      Statement& s = *random.pick(statements);
      s.conditions.push_back(
          {s.axes[static_cast<std::size_t>(random.below(s.axes.size()))] + Affine(random.uniform_int(-2, 0)), false});
      return "a condition added";
    }
    case 5: {
      if (loops.empty()) return {};
      Loop& loop = *random.pick(loops);
      (random.chance(0.5) ? loop.begin : loop.end) += nudge();
      if (loop.begin < program.vars[loop.var].range.lo || loop.end - 1 > program.vars[loop.var].range.hi) return {};
      return "a loop changed";
    }
    case 6: {
      for (Loop* loop : loops) {
        auto& bounds = random.chance(0.5) ? loop->lower : loop->upper;
        if (bounds.empty()) continue;
        if (random.chance(0.5)) {
          bounds.pop_back();
          return "a bound dropped";
        }
        bounds.back().numerator.constant += nudge();
        return "a bound moved";
      }
      return {};
    }
    case 7: {
      if (branches.empty()) return {};
      Branch& branch = *random.pick(branches);
      if (branch.segments.size() < 2) return {};
      const int by = nudge();
      branch.segments[0].end += by;
      branch.segments[1].begin += by;
      return "a segment boundary moved";
    }
    case 8:
    case 9:
    case 10: {
      std::vector<std::vector<Node>*> blocks;
      for (Phase& phase : program.phases)
        for_each_block(phase.body, [&](std::vector<Node>& nodes) { blocks.push_back(&nodes); });
      std::vector<Node>& nodes = *random.pick(blocks);
      if (nodes.empty()) return {};
      const auto at = static_cast<std::size_t>(random.below(nodes.size()));
      switch (random.uniform_int(0, 2)) {
        case 0: nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(at)); return "a node dropped";
        case 1: {
          Node copy = nodes[at];
          nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(copy));
          return "a node doubled";
        }
        default:
          if (at + 1 == nodes.size()) return {};
          std::swap(nodes[at], nodes[at + 1]);
          return "two nodes swapped";
      }
    }
    case 11: {
      Storage& storage = program.storages[static_cast<std::size_t>(random.below(program.storages.size()))];
      if (storage.base.empty()) return {};
      const auto axis = static_cast<std::size_t>(random.below(storage.base.size()));
      if (random.chance(0.5)) {
        storage.base[axis].constant += nudge();
        return "a storage moved";
      }
      if (storage.extents[axis] == 1) return {};
      storage.extents[axis] -= 1;
      return "a storage shrunk";
    }
    case 12: {
      Statement& s = *random.pick(statements);
      if (s.kind != Statement::Kind::Init && s.kind != Statement::Kind::Finish) return {};
      s.kind = s.kind == Statement::Kind::Init ? Statement::Kind::Finish : Statement::Kind::Init;
      return "a kind changed";
    }
    default: {
      if (program.phases.size() < 2) return {};
      const auto at = static_cast<std::size_t>(random.below(program.phases.size() - 1));
      std::swap(program.phases[at], program.phases[at + 1]);
      return "two phases swapped";
    }
  }
}

TEST(Verify, AcceptsNoMutationThatChangesTheResult) {
  int mutants = 0, refused = 0;
  for (const Example& e : examples()) {
    const schedule::Schedule s = scheduled(e.compute, e.trace);
    const ir::Compute compute = ir::parse_compute(e.compute);
    const Program original = build(s);
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
      RandomStream random(seed);
      Program mutant = original;
      const std::string what = mutate(mutant, random);
      if (what.empty()) continue;
      ++mutants;
      if (judged(mutant, s) != "accepted") {
        ++refused;
        continue;
      }
      ASSERT_EQ(run(mutant, compute), "") << e.name << ", seed " << seed << ", " << what << ":\n" << print(mutant);
    }
  }
  // What is left are changes without effect, such as padding that grows.
  EXPECT_GT(refused * 10, mutants * 7) << refused << " of " << mutants;
}

// ---- named mutations

/// The verdict after `change` has been applied to the first statement of a kind (or another part of the program).
std::string after(const char* compute, const std::string& trace, const std::function<void(Program&)>& change) {
  const schedule::Schedule s = scheduled(compute, trace);
  Program program = build(s);
  EXPECT_EQ(judged(program, s), "accepted");
  change(program);
  return judged(program, s);
}
Statement& first(Program& program, Statement::Kind kind) {
  for (Statement* s : all<Statement>(program)) {
    if (s->kind == kind) return *s;
  }
  throw std::runtime_error("no such statement");
}

TEST(Verify, WritesOutsideTheOutput) {
  EXPECT_EQ(after(kMatmul, "", [](Program& p) { all<Statement>(p).back()->axes[1].constant += 1; }), "OutOfBounds");
}
TEST(Verify, ReadsOutsideAnInput) {
  EXPECT_EQ(after(kWindow, "compute_inline P", [](Program& p) { all<Loop>(p).back()->lower.clear(); }), "OutOfBounds");
}
TEST(Verify, AnOutputThatIsNotWrittenAsAWhole) {
  EXPECT_EQ(after(kMatmul, "", [](Program& p) { p.phases.back().body.clear(); }), "NotCovered");
  EXPECT_EQ(after(kMatmul, "split E m 4 peel", [](Program& p) { p.phases.back().body.pop_back(); }), "NotCovered");
}
TEST(Verify, AStageReadBeforeItIsComputed) {
  EXPECT_EQ(after(kMatmul, "", [](Program& p) { std::swap(p.phases[0], p.phases[1]); }), "NotCovered");
}
TEST(Verify, TermsThatAreLeftOut) {
  EXPECT_EQ(after(kMatmul, "split C k 4 peel\nreorder C k.0,k.1,m,n", [](Program& p) { p.phases[0].body.pop_back(); }),
            "NotCovered");
  EXPECT_EQ(after(kMatmul, "",
                  [](Program& p) { first(p, Statement::Kind::Update).conditions.push_back({Affine(-1), false}); }),
            "NotCovered");
}
TEST(Verify, TermsThatAreTakenTwice) {
  EXPECT_EQ(after(kMatmul, "reorder C k,m,n", [](Program& p) { p.phases[0].body.push_back(p.phases[0].body.back()); }),
            "Overlap");
  // A maximum may see a term twice.
  EXPECT_EQ(after(kRows, "reorder top ja,i", [](Program& p) { p.phases[0].body.push_back(p.phases[0].body.back()); }),
            "accepted");
}
TEST(Verify, TermsWithoutInitialisation) {
  EXPECT_EQ(after(kMatmul, "reorder C k,m,n", [](Program& p) { p.phases[0].body.erase(p.phases[0].body.begin()); }),
            "NotCovered");
}
TEST(Verify, TermsThatDoNotExist) {
  EXPECT_EQ(after(kWindow, "unroll C k", [](Program& p) { first(p, Statement::Kind::Update).conditions.clear(); }),
            "OutOfBounds");
  EXPECT_EQ(after(kParity, "", [](Program& p) { first(p, Statement::Kind::Update).conditions.clear(); }),
            "OutOfBounds");
}
TEST(Verify, LanePartialsAreCombinedOnce) {
  const std::string partials = examples()[2].trace;
  const auto finish = [](Program& p, bool twice) {
    for (Phase& phase : p.phases) {
      for_each_block(phase.body, [&](std::vector<Node>& nodes) {
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          const auto* s = std::get_if<Statement>(&nodes[i].value);
          if (s == nullptr || s->kind != Statement::Kind::Finish) continue;
          if (twice) {
            Node copy = nodes[i];
            nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(i++), std::move(copy));
          } else {
            nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i--));
          }
        }
      });
    }
  };
  EXPECT_EQ(after(kMatmul, partials, [&](Program& p) { finish(p, false); }), "NotCovered");
  EXPECT_EQ(after(kMatmul, partials, [&](Program& p) { finish(p, true); }), "NotCovered");
}
TEST(Verify, ThreadsThatWriteTheSameElements) {
  EXPECT_EQ(after(kMatmul, "parallel E m", [](Program& p) { all<Statement>(p).back()->axes[0] = Affine(0); }),
            "Overlap");
  // A stage computed inside parallel iterations cannot be shared: it would have to be whole before it is read.
  EXPECT_EQ(after(kRows, "compute_at total out i\nparallel out i",
                  [](Program& p) {
                    for (Storage& s : p.storages) {
                      if (s.kind == StorageKind::Local) s.kind = StorageKind::Workspace;
                    }
                    for (Phase& phase : p.phases) {
                      for_each_block(phase.body, [](std::vector<Node>& nodes) {
                        std::erase_if(nodes, [](const Node& n) { return std::holds_alternative<Allocate>(n.value); });
                      });
                    }
                  }),
            "NotCovered");
}
TEST(Verify, StorageOutsideItsScope) {
  EXPECT_EQ(after(kRows, "compute_at total out i",
                  [](Program& p) {
                    for (Phase& phase : p.phases) {
                      for_each_block(phase.body, [](std::vector<Node>& nodes) {
                        std::erase_if(nodes, [](const Node& n) { return std::holds_alternative<Allocate>(n.value); });
                      });
                    }
                  }),
            "NotCovered");
}
TEST(Verify, AReductionOverNothingIsItsInitialValue) {
  const schedule::Schedule s = scheduled(R"(placeholder A[m: 4, k: 0]: f32
stage C[m: 4]: f32
  reducer sum associative commutative identity 0.0 combine #0 + #1
  over [k: 0]
  body A[m, k]
output C
)",
                                         "");
  EXPECT_EQ(judged(build(s), s), "accepted");
}
TEST(Verify, PreparedStagesReadConstants) {
  EXPECT_EQ(after(kMatmul, "cache_read A C", [](Program& p) { p.phases[0].prepare = true; }), "NotCovered");
}
TEST(Verify, SegmentsLeaveNoGap) {
  EXPECT_EQ(after(kMatmul, kTile, [](Program& p) { all<Branch>(p).back()->segments.back().begin += 1; }), "NotCovered");
  EXPECT_EQ(after(kMatmul, kTile, [](Program& p) { all<Branch>(p).back()->segments.pop_back(); }), "NotCovered");
}
TEST(Verify, ThePaddingOfPackedLayoutsMayBeRead) {
  EXPECT_EQ(after(kMatmul, kTile,
                  [](Program& p) {
                    for (Storage& s : p.storages) {
                      if (s.kind == StorageKind::Blob) s.extents[1] = 10;
                    }
                  }),
            "OutOfBounds")
      << "without the padding the tile reads past the end";
}

}  // namespace
}  // namespace temper::nest
