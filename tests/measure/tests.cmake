# What other tests do beside them would disturb what these time.
set(TEMPER_TESTS_ALONE_measure TRUE)
include(${CMAKE_SOURCE_DIR}/tests/artifacts/artifacts.cmake)
temper_use_test_artifacts(test_measure)

# Programs that the tests start: a builder that does what it is told, and a tuner that is killed.
foreach(program fake_builder orphan_parent)
  add_executable(${program} ${CMAKE_SOURCE_DIR}/tests/measure/programs/${program}.cpp)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test_programs)
  target_link_libraries(${program} PRIVATE temper_measure temper_warnings)
  target_include_directories(${program} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  temper_use_test_artifacts(${program})
  add_dependencies(test_measure ${program})
endforeach()
add_dependencies(test_measure temper-runner temper-builder)
target_compile_definitions(test_measure PRIVATE TEMPER_TEST_PROGRAMS="${CMAKE_BINARY_DIR}/test_programs")
