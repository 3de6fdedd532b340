# Artifacts are loaded with dlopen, phases run on threads. Nothing else: what ships with a tuned model stays small.
target_link_libraries(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} Threads::Threads ${CMAKE_DL_LIBS})
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/temper/runtime/c_api.cpp
                            PROPERTIES COMPILE_DEFINITIONS "TEMPER_VERSION_TEXT=\"${PROJECT_VERSION}\"")

# What C programs link: libtemper_runtime.so, which exports the functions of include/temper/runtime.h and nothing else.
file(WRITE ${CMAKE_BINARY_DIR}/generated/runtime/empty.cpp "")
add_library(temper_runtime_shared SHARED ${CMAKE_BINARY_DIR}/generated/runtime/empty.cpp)
set_target_properties(temper_runtime_shared PROPERTIES OUTPUT_NAME temper_runtime VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/exports.map)
target_link_libraries(temper_runtime_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,temper_runtime>)
target_link_options(temper_runtime_shared PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map)
target_include_directories(temper_runtime_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
