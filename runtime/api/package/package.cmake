# The CMake and pkg-config packages of a delivery, whose prefix is the output folder of ./inv build: libtrimtab.a and trimtab.h are
# in the prefix itself, the shared library in lib/ and include/.
#   cmake --install BUILD --component package --prefix PREFIX
set(libraries "-lm -pthread")
if(CMAKE_DL_LIBS AND NOT TRIMTAB_LINK_FLAGS MATCHES "-static")
  string(APPEND libraries " -l${CMAKE_DL_LIBS}")
endif()
set(prefix "\${prefix}")
if(TRIMTAB_SHARED)
  set(package_flags "-I${prefix}/include")
  set(package_libraries "-L${prefix}/lib -ltrimtab")
else()
  set(package_flags "-I${prefix}")
  set(package_libraries "${prefix}/libtrimtab.a ${libraries}")
endif()

include(CMakePackageConfigHelpers)
configure_file(runtime/api/package/trimtab.pc.in package/trimtab.pc @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/trimtabConfigVersion.cmake VERSION ${TRIMTAB_VERSION}
                                 COMPATIBILITY SameMinorVersion)
# CMake compares the size of a pointer alone; a 32-bit program may see the 64-bit kernel's name. In lower case:
set(processors_x86_64 "x86_64|amd64")
set(processors_aarch64 "aarch64|arm64")
set(processors_armv7 "arm|aarch64")
set(processors_riscv64 "riscv64")
file(APPEND ${CMAKE_BINARY_DIR}/package/trimtabConfigVersion.cmake "
string(TOLOWER \"\${CMAKE_SYSTEM_PROCESSOR}\" trimtab_processor)
if(trimtab_processor AND NOT trimtab_processor MATCHES \"${processors_${TRIMTAB_ARCH}}\")
  string(APPEND PACKAGE_VERSION \" (for ${TRIMTAB_ARCH}, not \${CMAKE_SYSTEM_PROCESSOR})\")
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
unset(trimtab_processor)
")
set(package lib/cmake/trimtab)
install(FILES ${CMAKE_BINARY_DIR}/package/trimtab.pc DESTINATION lib/pkgconfig COMPONENT package)
install(FILES runtime/api/package/trimtabConfig.cmake ${CMAKE_BINARY_DIR}/package/trimtabConfigVersion.cmake
        DESTINATION ${package} COMPONENT package)
