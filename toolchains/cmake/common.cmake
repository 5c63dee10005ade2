# What all toolchains share. The generated file that includes this has set TRIMTAB_COMPILE_FLAGS, TRIMTAB_LINK_FLAGS and
# TRIMTAB_LINK_DRIVER.
#
# Executables are linked by a C driver: a C++ one would bring in the C++ standard library, 180 KB of it in a static binary.
# TARGET.map says which object every byte came from. Symbols stay: trimtab/build/elf_strip.py removes them from what is delivered,
# since not every toolchain has a strip.
foreach(language C CXX ASM)
  set(CMAKE_${language}_FLAGS "${TRIMTAB_COMPILE_FLAGS}" CACHE STRING "")
endforeach()
# The project names its own optimization levels; zig would add debug information without -g0.
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_RELEASE "-g0 -DNDEBUG" CACHE STRING "")
  set(CMAKE_${language}_FLAGS_DEBUG "-g" CACHE STRING "")
endforeach()
set(CMAKE_CXX_LINK_EXECUTABLE
  "${TRIMTAB_LINK_DRIVER} ${TRIMTAB_LINK_FLAGS} -Wl,--gc-sections -Wl,--print-map <LINK_FLAGS> <OBJECTS> <LINK_LIBRARIES> -lm -pthread -o <TARGET> > <TARGET>.map")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
