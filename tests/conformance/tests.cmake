# The suite reads ModelProto files; the program runs all of it, the test a part that takes seconds.
target_link_libraries(test_conformance PRIVATE temper_onnx_schema)
add_executable(
  temper-conformance ${CMAKE_SOURCE_DIR}/tests/conformance/program/main.cpp
                     ${CMAKE_SOURCE_DIR}/tests/conformance/suite.cpp ${CMAKE_SOURCE_DIR}/tests/conformance/isolated.cpp)
target_include_directories(temper-conformance PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(temper-conformance PRIVATE temper_app temper_onnx_schema temper_warnings)
set_target_properties(temper-conformance PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test_programs)
