// Declares a family of kernels, at the function that computes it:
//
//     TRIMTAB_FAMILY(f32)
//     inline void LogSoftmax(const SoftmaxArgs<Element>& args) { ... }
//
// trimtab/kernels/families.py parses it. For every instruction set with vectors of that type
// (kernels/isa.toml), trimtab/build/codegen.py writes a file of the kernel's name:
//
//     #include "kernels/arm/vec_neon.h"
//
//     #include "kernels/generic/softmax.h"
//
//     extern "C" void log_softmax_f32_neon(const SoftmaxArgs<float>& args) { LogSoftmax(args); }
//
// A file of that name in kernels/<folder>/ replaces it. Options after the types:
//
//     portable                        plain C++ only
//     needs(division)                 not for an instruction set whose row `lacks` it
//     tiles(4, 5), tiles(4x6)         kernels of these tiles: Function<4>, <5>, <4, 6>
//     tile_by_lanes(4 : 8, 16 : 16)   for vectors of 4 lanes a kernel of tile 8
//
// The portable member of a family with tiles supports every tile and is written by hand.
#ifndef TRIMTAB_KERNELS_GENERIC_FAMILY_H_
#define TRIMTAB_KERNELS_GENERIC_FAMILY_H_

#define TRIMTAB_FAMILY(...)

#endif  // TRIMTAB_KERNELS_GENERIC_FAMILY_H_
