# zig: clang, lld and the sources of musl and glibc in one Python package. TRIMTAB_ZIG_BIN contains wrapper scripts cc, c++, ar and
# ranlib for the target. Without the archivers CMake would use those of the host.
set(CMAKE_C_COMPILER ${TRIMTAB_ZIG_BIN}/cc)
set(CMAKE_CXX_COMPILER ${TRIMTAB_ZIG_BIN}/c++)
set(CMAKE_ASM_COMPILER ${TRIMTAB_ZIG_BIN}/cc)
foreach(tool AR RANLIB)
  string(TOLOWER ${tool} name)
  foreach(prefix CMAKE CMAKE_C_COMPILER CMAKE_CXX_COMPILER)
    set(${prefix}_${tool} ${TRIMTAB_ZIG_BIN}/${name} CACHE FILEPATH "")
  endforeach()
endforeach()
# A linked probe would make zig compile its C and C++ libraries with other flags than ours, which takes minutes.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER_ID_FLAGS_ALWAYS -c)
set(CMAKE_CXX_COMPILER_ID_FLAGS_ALWAYS -c)
# zig compiles its C library with the optimization level and the unwinding options of the link command: these three make musl a
# fifth smaller. It is compiled once per set of flags, so no core (-mcpu) is named here. -g keeps the symbols.
string(PREPEND TRIMTAB_LINK_FLAGS "-Os -g -fno-unwind-tables -fno-asynchronous-unwind-tables -Wl,-z,norelro ")
set(TRIMTAB_LINK_DRIVER "<CMAKE_C_COMPILER>")
# A user's program in C links with the same flags, and thus the same C library. Without an optimization level zig would add a
# sanitizer to its objects, whose run-time library this link lacks.
set(CMAKE_C_FLAGS "-Os ${TRIMTAB_COMPILE_FLAGS}" CACHE STRING "")
set(CMAKE_C_LINK_EXECUTABLE
  "<CMAKE_C_COMPILER> ${TRIMTAB_LINK_FLAGS} <CMAKE_C_LINK_FLAGS> <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
