# For `pip install`: the toolchain `host` of the running Python. pip builds in a temporary environment with its own zig, so wrappers
# and compiler cache stay in the build directory, not in the cache of a checkout, unless TRIMTAB_CACHE_DIR names a folder. scikit-build-core sets CXX to the compiler that
# Python was built with, which is ignored; TRIMTAB_HOST_CXX selects another compiler.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRIMTAB_WHEEL_TOOLCHAIN)
if(NOT TRIMTAB_WHEEL_TOOLCHAIN)
  set(cache "$ENV{TRIMTAB_CACHE_DIR}")
  if(NOT cache)
    set(cache "${CMAKE_BINARY_DIR}/cache")
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env --unset=CXX PYTHONPATH=${CMAKE_SOURCE_DIR}:$ENV{PYTHONPATH} TRIMTAB_CACHE_DIR=${cache}
            ${Python3_EXECUTABLE} -m trimtab.build.toolchain host
    OUTPUT_VARIABLE TRIMTAB_WHEEL_TOOLCHAIN OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "trimtab.build.toolchain failed, see above")
  endif()
endif()
include(${TRIMTAB_WHEEL_TOOLCHAIN})
