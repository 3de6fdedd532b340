# The layer law, in one place: each room and the rooms whose headers it may include directly.
# What a listed room may use is usable too (the law is transitive).
# The targets are linked from this table and `scripts/check_layers.py` reads it to check every include.
set(TEMPER_LAYERS
  "support:"
  "target:support"
  "record:support,target"
  "search:support,record"
  "ir:support"
  "analysis:ir"
  "ops:ir"
  "schedule:analysis,target"
  "nest:schedule"
  "space:nest,ops,search"
  "cost:nest,search"
  "lower:nest"
  "codegen:lower"
  "runtime:record"
  "protocol:record"
  "runner:runtime,protocol"
  "graph:ops,runtime"
  "compile:codegen"
  "measure:compile,runtime,protocol"
  "peers:protocol,target"
  "store:record"
  "tune:measure,cost,peers,store,compile,space,graph"
  "app:tune"
)
