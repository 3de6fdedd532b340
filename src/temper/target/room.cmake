# hwloc describes caches and cores. Only programs that call `target::detect` depend on its library.
target_include_directories(temper_${TEMPER_ROOM} PRIVATE ${HWLOC_INCLUDE_DIR})
target_link_libraries(temper_${TEMPER_ROOM} PRIVATE -Wl,--push-state,--as-needed ${HWLOC_LIBRARY} -Wl,--pop-state)
