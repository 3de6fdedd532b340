# The boosted-tree model uses XGBoost through its C interface; the neural network uses Eigen, which is headers alone.
target_include_directories(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} ${XGBOOST_INCLUDE_DIR})
target_link_libraries(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} ${XGBOOST_LIBRARY} Eigen3::Eigen)
