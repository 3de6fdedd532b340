# The JSON of the conversation, dlopen, oneDNN's types, the program that serves native libraries, and the Python peer, which
# travels inside the library so that an installed Temper needs no path to it.
find_path(ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
set(TEMPER_PEER_SCRIPT_FILE ${CMAKE_SOURCE_DIR}/scripts/peer_python.py)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TEMPER_PEER_SCRIPT_FILE})
file(READ ${TEMPER_PEER_SCRIPT_FILE} TEMPER_PEER_SCRIPT)
configure_file(${CMAKE_SOURCE_DIR}/src/temper/peers/python_script.h.in
               ${CMAKE_BINARY_DIR}/generated/temper/peers/python_script.h @ONLY)
target_include_directories(temper_${TEMPER_ROOM} PRIVATE ${CMAKE_BINARY_DIR}/generated ${ONEDNN_INCLUDE_DIR})
target_link_libraries(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})

add_executable(temper-peer ${TEMPER_ROOM_MAINS})
target_link_libraries(temper-peer PRIVATE temper_${TEMPER_ROOM} temper_warnings)
