include(${CMAKE_SOURCE_DIR}/tests/artifacts/artifacts.cmake)
temper_use_test_artifacts(test_runner)
add_dependencies(test_runner temper-runner)
