# Hand-written kernels as shared objects, without sanitizers: target `test_artifacts`, files in TEMPER_TEST_ARTIFACT_DIR.
include_guard(GLOBAL)
set(TEMPER_TEST_ARTIFACT_DIR ${CMAKE_BINARY_DIR}/test_artifacts)
file(MAKE_DIRECTORY ${TEMPER_TEST_ARTIFACT_DIR})
set(artifacts "")
foreach(kernel right add scale_prepared two_phases wrong unwritten segfault illegal abort exit hang write_past read_past write_far
        write_before write_input huge_workspace huge_scratch eat_memory deep_stack write_slack bad_version bad_magic
        stale_workspace)
  string(TOUPPER ${kernel} name)
  set(artifact ${TEMPER_TEST_ARTIFACT_DIR}/${kernel}.so)
  add_custom_command(
    OUTPUT ${artifact}
    COMMAND ${CMAKE_C_COMPILER} -shared -fPIC -O1 -DKERNEL=${name} -I${CMAKE_SOURCE_DIR}/src -o ${artifact}
            ${CMAKE_SOURCE_DIR}/tests/artifacts/kernels.c
    DEPENDS ${CMAKE_SOURCE_DIR}/tests/artifacts/kernels.c ${CMAKE_SOURCE_DIR}/src/temper/target/artifact_abi.h
    VERBATIM)
  list(APPEND artifacts ${artifact})
endforeach()
add_custom_target(test_artifacts DEPENDS ${artifacts})

# `temper_use_test_artifacts(TARGET)`: TARGET reads them from the folder TEMPER_TEST_ARTIFACT_DIR.
function(temper_use_test_artifacts target)
  add_dependencies(${target} test_artifacts)
  target_compile_definitions(${target} PRIVATE TEMPER_TEST_ARTIFACT_DIR="${CMAKE_BINARY_DIR}/test_artifacts")
endfunction()
