# The process that compiles is a program of its own: a compiler that crashes costs one candidate, not the tuner.
add_executable(temper-builder ${TEMPER_ROOM_MAINS})
target_link_libraries(temper-builder PRIVATE temper_${TEMPER_ROOM} temper_warnings)
