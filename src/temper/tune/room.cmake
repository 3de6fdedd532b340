# Records name the version that measured them.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/temper/tune/version.cpp
                            PROPERTIES COMPILE_DEFINITIONS "TEMPER_VERSION_TEXT=\"${PROJECT_VERSION}\"")
