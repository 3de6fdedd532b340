# Messages are protobuf (lite); their C++ is generated here, compiled without our warnings, and its header counts as a system header.
set(TEMPER_MESSAGES ${CMAKE_BINARY_DIR}/generated/protocol/temper/protocol/messages.pb)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated/protocol/temper/protocol)
add_custom_command(
  OUTPUT ${TEMPER_MESSAGES}.cc ${TEMPER_MESSAGES}.h
  COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR}/src --cpp_out=${CMAKE_BINARY_DIR}/generated/protocol
          temper/protocol/messages.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/src/temper/protocol/messages.proto
  VERBATIM)
add_library(temper_messages STATIC ${TEMPER_MESSAGES}.cc ${TEMPER_MESSAGES}.h)
target_include_directories(temper_messages SYSTEM PUBLIC $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/generated/protocol>)
target_link_libraries(temper_messages PUBLIC protobuf::libprotobuf-lite)
target_compile_options(temper_messages PRIVATE -w)
target_link_libraries(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} temper_messages)
add_dependencies(temper_${TEMPER_ROOM} temper_messages)
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/temper/protocol/handshake.cpp
                            PROPERTIES COMPILE_DEFINITIONS "TEMPER_VERSION_TEXT=\"${PROJECT_VERSION}\"")
