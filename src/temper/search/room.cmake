# The Gaussian process uses Eigen, which is headers alone.
target_link_libraries(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} Eigen3::Eigen)
