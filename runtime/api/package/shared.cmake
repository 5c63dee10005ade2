# libtrimtab.so, which exports only the C API. The code is that of the static library; a C driver links it, because the engine needs
# no C++ library.
#   cmake --install BUILD --component shared --prefix PREFIX
string(REGEX MATCH "^[0-9]+" major "${TRIMTAB_VERSION}")
set_property(SOURCE runtime/api/lookup.cpp runtime/api/trimtab.cpp runtime/api/load_plugin.cpp
             APPEND PROPERTY COMPILE_OPTIONS -fvisibility=default)

add_library(trimtab-shared SHARED $<TARGET_OBJECTS:trimtab>)
set(map ${CMAKE_SOURCE_DIR}/runtime/api/package/trimtab.map)
target_link_options(trimtab-shared PRIVATE -s -Wl,--version-script=${map} -Wl,--gc-sections)
target_link_libraries(trimtab-shared PRIVATE -lm -pthread ${CMAKE_DL_LIBS})
target_include_directories(trimtab-shared INTERFACE $<INSTALL_INTERFACE:include>)
set_target_properties(trimtab-shared PROPERTIES OUTPUT_NAME trimtab EXPORT_NAME trimtab VERSION ${TRIMTAB_VERSION}
                      SOVERSION ${major} LINKER_LANGUAGE C LINK_DEPENDS ${map})

install(TARGETS trimtab-shared EXPORT trimtab DESTINATION lib COMPONENT shared)
install(FILES runtime/api/trimtab.h runtime/api/trimtab_plugin.h DESTINATION include COMPONENT shared)
install(EXPORT trimtab NAMESPACE trimtab:: FILE trimtabTargets.cmake DESTINATION ${package} COMPONENT shared)
