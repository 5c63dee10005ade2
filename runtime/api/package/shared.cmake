# libtrimtab.so, which exports only the C API, and its CMake and pkg-config packages. The code is that of the static library; a C
# driver links it, because the engine needs no C++ library.
#   cmake --install BUILD --component shared --prefix PREFIX
file(STRINGS trimtab/__init__.py version REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" TRIMTAB_VERSION "${version}")
string(REGEX MATCH "^[0-9]+" major "${TRIMTAB_VERSION}")
set_property(SOURCE runtime/api/trimtab.cpp runtime/api/load_plugin.cpp APPEND PROPERTY COMPILE_OPTIONS -fvisibility=default)

add_library(trimtab-shared SHARED $<TARGET_OBJECTS:trimtab>)
set(map ${CMAKE_SOURCE_DIR}/runtime/api/package/trimtab.map)
target_link_options(trimtab-shared PRIVATE -s -Wl,--version-script=${map} -Wl,--gc-sections)
target_link_libraries(trimtab-shared PRIVATE -lm -pthread ${CMAKE_DL_LIBS})
target_include_directories(trimtab-shared INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(trimtab-shared PROPERTIES OUTPUT_NAME trimtab EXPORT_NAME trimtab VERSION ${TRIMTAB_VERSION}
                      SOVERSION ${major} LINKER_LANGUAGE C LINK_DEPENDS ${map})

include(CMakePackageConfigHelpers)
configure_file(runtime/api/package/trimtab.pc.in package/trimtab.pc @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/trimtabConfigVersion.cmake VERSION ${TRIMTAB_VERSION}
                                 COMPATIBILITY SameMinorVersion)
install(TARGETS trimtab-shared EXPORT trimtab DESTINATION lib COMPONENT shared)
install(FILES runtime/api/trimtab.h runtime/api/trimtab_plugin.h DESTINATION include COMPONENT shared)
install(FILES ${CMAKE_BINARY_DIR}/package/trimtab.pc DESTINATION lib/pkgconfig COMPONENT shared)
set(package lib/cmake/trimtab)
install(EXPORT trimtab NAMESPACE trimtab:: FILE trimtabTargets.cmake DESTINATION ${package} COMPONENT shared)
install(FILES runtime/api/package/trimtabConfig.cmake ${CMAKE_BINARY_DIR}/package/trimtabConfigVersion.cmake
        DESTINATION ${package} COMPONENT shared)
