# Recordings are JSON, often packed with gzip.
target_link_libraries(temper_${TEMPER_ROOM} PUBLIC nlohmann_json::nlohmann_json PRIVATE ZLIB::ZLIB)
# fmt is compiled into the files that use it, as in support.
file(GLOB recorded_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/temper/space/recorded/*.cpp)
set_source_files_properties(${recorded_sources} PROPERTIES COMPILE_DEFINITIONS FMT_HEADER_ONLY)
