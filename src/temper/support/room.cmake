# spdlog and fmt are compiled into the one file that uses them: nothing that links Temper's runtime needs their libraries.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/temper/support/logging.cpp
                            PROPERTIES COMPILE_DEFINITIONS "SPDLOG_FMT_EXTERNAL;FMT_HEADER_ONLY")
target_link_libraries(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} Threads::Threads)
