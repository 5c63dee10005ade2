# For `pip install`: the toolchain `host`, as this very Python sees it. pip builds in an environment of its own whose zig is
# gone afterwards, so that nothing of it may reach the cache of a checkout: wrappers and compiler cache stay in the build
# directory. scikit-build-core sets CXX to what Python itself was compiled with, which is nobody's wish; TRIMTAB_HOST_CXX is.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRIMTAB_WHEEL_TOOLCHAIN)
if(NOT TRIMTAB_WHEEL_TOOLCHAIN)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env --unset=CXX PYTHONPATH=${CMAKE_SOURCE_DIR}:$ENV{PYTHONPATH} TRIMTAB_CACHE_DIR=${CMAKE_BINARY_DIR}/cache
            ${Python3_EXECUTABLE} -m trimtab.build.toolchain host
    OUTPUT_VARIABLE TRIMTAB_WHEEL_TOOLCHAIN OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "trimtab.build.toolchain failed, see above")
  endif()
endif()
include(${TRIMTAB_WHEEL_TOOLCHAIN})
