# A program that holds no operator and no template: it rebuilds kernels from trace files. The layer law keeps it so: this
# room sees neither ops nor space.
add_executable(temper-replay ${TEMPER_ROOM_MAINS})
target_link_libraries(temper-replay PRIVATE temper_${TEMPER_ROOM} temper_warnings)
