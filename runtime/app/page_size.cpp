// The C library of zig's musl targets asks sysconf for the size of a page when it starts a thread, and
// the engine when it drops pages of a file. That sysconf knows a hundred other things, in a kilobyte of
// every runner; nobody here asks for these.
#include <unistd.h>

#if defined(__linux__) && !defined(__GLIBC__) && !defined(__BIONIC__)

#include <sys/auxv.h>

extern "C" long sysconf(int name) {
  return name == _SC_PAGESIZE ? static_cast<long>(getauxval(AT_PAGESZ)) : -1;
}

#endif
