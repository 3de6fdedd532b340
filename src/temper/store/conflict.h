// Which of two records of one candidate stays.
#pragma once

#include "temper/store/store.h"

namespace temper::store {

/// Whether `a` says more than `b` about their candidate: a total order, so that merging files gives the same whatever
/// their order. The first of these that differs decides:
///   the newer record schema, then the newer Temper version;
///   what the outcome is worth: a fault of the candidate (it crashed, computed wrong numbers, cannot be built), then a
///     time, then what the machine may be to blame for (a time-out, too little memory), then an unstable time;
///   more samples; the later measurement; the lesser time; of two definitions the one with the greater hash.
bool outranks(const Record& a, const Record& b);

/// Whether `stored` is replaced by `fresh`. Of `stored`, what `outranks` compares must be there.
bool gives_way(const Record& stored, const Record& fresh, OnConflict on_conflict);

/// Whether both were measured of the same program: definition, schema and Temper version agree.
bool same_program(const Record& a, const Record& b);

}  // namespace temper::store
