"""Builds binaries from a profile and a planned program: toolchains, code generation, CMake."""
