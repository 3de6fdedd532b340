# LLVM as its shared library (the tool's only big run-time dependency) and lld's ELF driver as static libraries.
# Only the files below llvm/ include their headers.
target_include_directories(temper_${TEMPER_ROOM} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
target_link_libraries(temper_${TEMPER_ROOM} PRIVATE lldELF lldCommon LLVM)
