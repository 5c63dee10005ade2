# Common settings of all toolchains. The generated file that includes this one sets TRIMTAB_COMPILE_FLAGS, TRIMTAB_LINK_FLAGS and
# TRIMTAB_LINK_DRIVER.
#
# A C driver links executables: a C++ driver would link the C++ standard library, 180 KB of a static binary. TARGET.map lists the
# object of every byte. Symbols stay: trimtab/build/strip.py strips delivered files, because not every toolchain has a strip program.
foreach(language C CXX ASM)
  set(CMAKE_${language}_FLAGS "${TRIMTAB_COMPILE_FLAGS}" CACHE STRING "")
endforeach()
# The project sets its own optimization levels; without -g0 zig would add debug information.
foreach(language C CXX)
  set(CMAKE_${language}_FLAGS_RELEASE "-g0 -DNDEBUG" CACHE STRING "")
  set(CMAKE_${language}_FLAGS_DEBUG "-g" CACHE STRING "")
endforeach()
set(CMAKE_CXX_LINK_EXECUTABLE
  "${TRIMTAB_LINK_DRIVER} ${TRIMTAB_LINK_FLAGS} -Wl,--gc-sections -Wl,--print-map <LINK_FLAGS> <OBJECTS> <LINK_LIBRARIES> -lm -pthread -o <TARGET> > <TARGET>.map")

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
