# nlohmann-json is used inside of json.cpp only; no header of the room shows it.
target_link_libraries(temper_${TEMPER_ROOM} PRIVATE nlohmann_json::nlohmann_json)
