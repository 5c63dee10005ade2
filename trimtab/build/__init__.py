"""From a profile and a planned program to binaries: toolchains, tables, CMake, deliveries."""
