# Tests build models as ModelProto bytes, and run plans on kernels that the C compiler makes of the definitions.
target_link_libraries(test_graph PRIVATE temper_onnx_schema)
target_compile_definitions(test_graph PRIVATE TEMPER_C_COMPILER="${CMAKE_C_COMPILER}")
