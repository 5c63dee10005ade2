# The CMake and pkg-config packages of a delivery, whose prefix is the output folder of ./inv build: libtrimtab.a and trimtab.h are
# in the prefix itself, the shared library in lib/ and include/.
#   cmake --install BUILD --component package --prefix PREFIX
file(STRINGS trimtab/__init__.py version REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" TRIMTAB_VERSION "${version}")

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
set(package lib/cmake/trimtab)
install(FILES ${CMAKE_BINARY_DIR}/package/trimtab.pc DESTINATION lib/pkgconfig COMPONENT package)
install(FILES runtime/api/package/trimtabConfig.cmake ${CMAKE_BINARY_DIR}/package/trimtabConfigVersion.cmake
        DESTINATION ${package} COMPONENT package)
