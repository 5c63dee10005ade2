# find_package(trimtab) gives the library trimtab::trimtab.
include(${CMAKE_CURRENT_LIST_DIR}/trimtabTargets.cmake)
