# Recordings are JSON, often packed with gzip.
target_link_libraries(temper_${TEMPER_ROOM} PUBLIC nlohmann_json::nlohmann_json PRIVATE ZLIB::ZLIB)
