# The process that times is a program of its own, linked without the compiler.
add_executable(temper-runner ${TEMPER_ROOM_MAINS})
target_link_libraries(temper-runner PRIVATE temper_${TEMPER_ROOM} temper_warnings)
