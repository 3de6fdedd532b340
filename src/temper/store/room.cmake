target_link_libraries(temper_${TEMPER_ROOM} PRIVATE SQLite::SQLite3)
