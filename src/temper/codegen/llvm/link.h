// Linking in process: one object becomes a shared object in memory.
#pragma once

#include <string>

#include "temper/codegen/codegen.h"

namespace temper::codegen {

/// Links the bytes of an ELF object. No file appears in the file system. Safe from any thread; calls take turns.
/// Throws Error{Internal} with the linker's words when the object has undefined symbols or is damaged.
Artifact link_shared_object(const std::string& object);

}  // namespace temper::codegen
