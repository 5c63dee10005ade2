# find_package(trimtab) gives the libraries trimtab::static and trimtab::trimtab, which is the shared library if the build has one,
# and the list trimtab_MODELS of the build's .ttm files.
get_filename_component(trimtab_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
file(GLOB trimtab_MODELS ${trimtab_prefix}/*.ttm)
include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(NOT TARGET trimtab::static)
  add_library(trimtab::static STATIC IMPORTED)
  set_target_properties(trimtab::static PROPERTIES
    IMPORTED_LOCATION ${trimtab_prefix}/libtrimtab.a
    IMPORTED_LINK_INTERFACE_LANGUAGES C
    INTERFACE_INCLUDE_DIRECTORIES ${trimtab_prefix}
    INTERFACE_LINK_LIBRARIES "m;Threads::Threads;${CMAKE_DL_LIBS}")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/trimtabTargets.cmake OPTIONAL)
if(NOT TARGET trimtab::trimtab)
  add_library(trimtab::trimtab INTERFACE IMPORTED)
  set_target_properties(trimtab::trimtab PROPERTIES INTERFACE_LINK_LIBRARIES trimtab::static)
endif()
unset(trimtab_prefix)
