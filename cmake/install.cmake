# `cmake --install`: the command with its helper processes, the C runtime library, and the C++ libraries of all rooms.
#   find_package(temper)                        gives temper::runtime: the C library that runs bundles; needs nothing else
#   find_package(temper COMPONENTS tuner)       also gives temper::<room>, for programs that tune: temper::tune, temper::ops, ...
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(TEMPER_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/temper)

foreach(program temper temper-builder temper-runner temper-peer temper-replay)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

set_target_properties(temper_runtime_shared PROPERTIES EXPORT_NAME runtime)
install(TARGETS temper_runtime_shared EXPORT temperRuntime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT temperRuntime NAMESPACE temper:: DESTINATION ${TEMPER_PACKAGE_DIR})

set(rooms temper_warnings temper_messages temper_onnx_schema)
foreach(entry IN LISTS TEMPER_LAYERS)
  string(REGEX REPLACE ":.*" "" room "${entry}")
  set_target_properties(temper_${room} PROPERTIES EXPORT_NAME ${room})
  list(APPEND rooms temper_${room})
endforeach()
# `temper::runtime` is the C library; the code of that room goes by another name.
set_target_properties(temper_runtime PROPERTIES EXPORT_NAME runtime_static)
install(TARGETS ${rooms} EXPORT temperTuner ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/temper
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT temperTuner NAMESPACE temper:: DESTINATION ${TEMPER_PACKAGE_DIR})

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/temper ${CMAKE_SOURCE_DIR}/src/temper
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${CMAKE_BINARY_DIR}/generated/protocol/temper/protocol/messages.pb.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/temper/protocol)
install(FILES ${CMAKE_SOURCE_DIR}/data/models/default.model DESTINATION ${CMAKE_INSTALL_DATADIR}/temper/models)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/temperConfig.cmake.in ${CMAKE_BINARY_DIR}/temperConfig.cmake
                              INSTALL_DESTINATION ${TEMPER_PACKAGE_DIR} PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/temperConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/temperConfig.cmake ${CMAKE_BINARY_DIR}/temperConfigVersion.cmake
        DESTINATION ${TEMPER_PACKAGE_DIR})
