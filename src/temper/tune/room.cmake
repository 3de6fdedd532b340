# Records name the version that measured them.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/temper/tune/version.cpp
                            PROPERTIES COMPILE_DEFINITIONS "TEMPER_VERSION_TEXT=\"${PROJECT_VERSION}\"")
# fmt is compiled into the files that use it, as in support.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/temper/tune/dataset.cpp PROPERTIES COMPILE_DEFINITIONS FMT_HEADER_ONLY)
# The pretrained model lies beside the programs as it does when they are installed.
configure_file(${CMAKE_SOURCE_DIR}/data/models/default.model ${CMAKE_BINARY_DIR}/share/temper/models/default.model COPYONLY)
