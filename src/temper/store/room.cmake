# nlohmann-json is used inside of t4_export.cpp only; no header of the room shows it.
target_link_libraries(temper_${TEMPER_ROOM} PRIVATE SQLite::SQLite3 nlohmann_json::nlohmann_json)
