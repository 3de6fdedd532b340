# Tests build models as ModelProto bytes.
target_link_libraries(test_graph PRIVATE temper_onnx_schema)
