# The Android NDK through its own toolchain file, which reads ANDROID_ABI, ANDROID_PLATFORM and ANDROID_STL and sets the sysroot and
# the compiler of this host. c++_static is used for its headers only: -nostdlib++ does not link its code.
set(TRIMTAB_LINK_DRIVER "<CMAKE_CXX_COMPILER> -nostdlib++")
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
include(${TRIMTAB_NDK}/build/cmake/android.toolchain.cmake)
