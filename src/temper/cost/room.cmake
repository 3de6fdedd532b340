# The boosted-tree model uses XGBoost through its C interface.
target_include_directories(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} ${XGBOOST_INCLUDE_DIR})
target_link_libraries(temper_${TEMPER_ROOM} ${TEMPER_ROOM_SCOPE} ${XGBOOST_LIBRARY})
