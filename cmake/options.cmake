# Compiler options shared by every target: warnings as errors, the fast linker, ccache and the chosen sanitizers.
find_program(TEMPER_CCACHE ccache)
if(TEMPER_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${TEMPER_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TEMPER_CCACHE})
endif()
find_program(TEMPER_MOLD mold)
if(TEMPER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
option(TEMPER_WERROR "Warnings are errors" ON)
add_library(temper_warnings INTERFACE)
target_compile_options(temper_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual
                       # GCC 12 sees overlapping copies in string concatenation (GCC bug 105651)
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       $<$<BOOL:${TEMPER_WERROR}>:-Werror>)

if(TEMPER_SANITIZE)
  add_compile_options(-fsanitize=${TEMPER_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${TEMPER_SANITIZE})
endif()
