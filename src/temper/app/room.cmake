# The command line, and the program that replays traces without operators or templates.
target_include_directories(temper_${TEMPER_ROOM} PUBLIC ${CLI11_INCLUDE_DIR})
target_link_libraries(temper_${TEMPER_ROOM} PUBLIC nlohmann_json::nlohmann_json)
add_executable(temper ${TEMPER_ROOM_MAINS})
target_link_libraries(temper PRIVATE temper_${TEMPER_ROOM} temper_warnings)
add_dependencies(temper temper-runner temper-builder temper-peer temper-replay)
