# These tests start the programs that are shipped, and build models as ModelProto bytes.
add_dependencies(test_e2e temper temper-runner temper-builder temper-peer temper-replay temper_runtime_shared)
target_link_libraries(test_e2e PRIVATE temper_onnx_schema)
target_sources(test_e2e PRIVATE ${CMAKE_SOURCE_DIR}/tests/graph/random_model.cpp)
target_compile_definitions(
  test_e2e PRIVATE TEMPER_BUILD_DIR="${CMAKE_BINARY_DIR}" TEMPER_LIB_DIR="${CMAKE_BINARY_DIR}/lib"
                   TEMPER_CMAKE="${CMAKE_COMMAND}" TEMPER_NM="${CMAKE_NM}")

# The C program that a bundle runs from, against the public header and the shared library alone.
add_executable(run_bundle ${CMAKE_SOURCE_DIR}/tests/e2e/consumer/run_bundle.c)
set_target_properties(run_bundle PROPERTIES C_STANDARD 11 RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test_programs)
target_link_libraries(run_bundle PRIVATE temper_runtime_shared)
add_dependencies(test_e2e run_bundle)
target_compile_definitions(test_e2e PRIVATE TEMPER_RUN_BUNDLE="${CMAKE_BINARY_DIR}/test_programs/run_bundle")
