# An installed GCC or clang; TRIMTAB_CC and TRIMTAB_CXX name its drivers.
set(CMAKE_C_COMPILER ${TRIMTAB_CC})
set(CMAKE_CXX_COMPILER ${TRIMTAB_CXX})
set(CMAKE_ASM_COMPILER ${TRIMTAB_CC})
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# Avoids a page of padding per segment: 68 KB become 6 KB for a small program on aarch64, whose pages may be 64 KB.
string(PREPEND TRIMTAB_LINK_FLAGS
  "-Wl,-z,norelro -Wl,-z,noseparate-code -Wl,--build-id=none -Wl,--hash-style=gnu -Wl,--as-needed ")
set(TRIMTAB_LINK_DRIVER "<CMAKE_C_COMPILER>")
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
