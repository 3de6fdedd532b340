// The task behind a key of the database.
#pragma once

#include <optional>
#include <string_view>

#include "temper/record/record.h"
#include "temper/store/store.h"
#include "temper/tune/task.h"

namespace temper::tune {

/// The task of a key whose records are in `store`: today's definition where the key is a SPEC; else the definition that
/// the records of `target` keep beside their traces, the latest one, with the alternatives that were measured of it.
/// Nothing where no record keeps it, as with the layouts of a model. Throws what reading the store throws.
std::optional<Task> task_of(const store::Store& store, const record::TaskKey& key, std::string_view target);

}  // namespace temper::tune
