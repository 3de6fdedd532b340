# The ONNX schema comes from Debian's .proto alone: the C++ for it is generated here, and no ONNX library is linked.
set(TEMPER_ONNX_PROTO ${ONNX_PROTO_DIR}/onnx/onnx.proto)
set(TEMPER_ONNX_GENERATED ${CMAKE_BINARY_DIR}/generated/graph)
file(MAKE_DIRECTORY ${TEMPER_ONNX_GENERATED}/onnx)
add_custom_command(
  OUTPUT ${TEMPER_ONNX_GENERATED}/onnx/onnx.pb.cc ${TEMPER_ONNX_GENERATED}/onnx/onnx.pb.h
  COMMAND protobuf::protoc --proto_path=${ONNX_PROTO_DIR} --cpp_out=${TEMPER_ONNX_GENERATED} onnx/onnx.proto
  DEPENDS ${TEMPER_ONNX_PROTO}
  VERBATIM)
# Generated code is compiled without our warnings; its headers count as system headers.
add_library(temper_onnx_schema STATIC ${TEMPER_ONNX_GENERATED}/onnx/onnx.pb.cc)
target_include_directories(temper_onnx_schema SYSTEM PUBLIC $<BUILD_INTERFACE:${TEMPER_ONNX_GENERATED}>)
target_link_libraries(temper_onnx_schema PUBLIC protobuf::libprotobuf-lite)
target_compile_options(temper_onnx_schema PRIVATE -w)
target_link_libraries(temper_${TEMPER_ROOM} PRIVATE temper_onnx_schema)
