# zig: clang, lld and the sources of musl and glibc in one Python package. TRIMTAB_ZIG_BIN holds wrapper scripts cc, c++, ar,
# ranlib for the target. Without the archivers CMake would look for those of the host.
set(CMAKE_C_COMPILER ${TRIMTAB_ZIG_BIN}/cc)
set(CMAKE_CXX_COMPILER ${TRIMTAB_ZIG_BIN}/c++)
set(CMAKE_ASM_COMPILER ${TRIMTAB_ZIG_BIN}/cc)
foreach(tool AR RANLIB)
  string(TOLOWER ${tool} name)
  foreach(prefix CMAKE CMAKE_C_COMPILER CMAKE_CXX_COMPILER)
    set(${prefix}_${tool} ${TRIMTAB_ZIG_BIN}/${name} CACHE FILEPATH "")
  endforeach()
endforeach()
# Any linked probe would have zig compile a C and a C++ library of other flags than ours, for minutes.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER_ID_FLAGS_ALWAYS -c)
set(CMAKE_CXX_COMPILER_ID_FLAGS_ALWAYS -c)
# zig compiles its C library with the optimization level and the unwinding of the link command: these three make musl a
# fifth smaller. It is compiled once per set of flags, so no core (-mcpu) is named here. -g: keep the symbols.
string(PREPEND TRIMTAB_LINK_FLAGS "-Os -g -fno-unwind-tables -fno-asynchronous-unwind-tables -Wl,-z,norelro ")
set(TRIMTAB_LINK_DRIVER "<CMAKE_C_COMPILER>")
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
