include(${CMAKE_SOURCE_DIR}/tests/artifacts/artifacts.cmake)
temper_use_test_artifacts(test_runtime)

# A C program against the public header and the shared library alone.
add_executable(capi_smoke ${CMAKE_SOURCE_DIR}/tests/runtime/capi_smoke.c)
set_target_properties(capi_smoke PROPERTIES C_STANDARD 11 RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test_programs)
target_link_libraries(capi_smoke PRIVATE temper_runtime_shared)
add_dependencies(test_runtime capi_smoke)
target_compile_definitions(test_runtime PRIVATE TEMPER_CAPI_SMOKE="${CMAKE_BINARY_DIR}/test_programs/capi_smoke")
