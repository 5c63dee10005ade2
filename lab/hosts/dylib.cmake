# Read by CMake behind its rules for macOS, which link a module as a bundle: zig 0.17 crashes at that.
set(CMAKE_CXX_CREATE_SHARED_MODULE
  "<CMAKE_CXX_COMPILER> -dynamiclib <LINK_FLAGS> -o <TARGET> <OBJECTS> <LINK_LIBRARIES>")
