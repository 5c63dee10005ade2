#include "kernels/x86/vec_i8_avx512.h"

#include "kernels/kernel_api.h"

namespace {

// Two registers hold half of the table; the highest bit of an index selects the half.
struct Table {
  __m512i first[2], last[2];

  F operator()(F x) const {
    const __m512i low = _mm512_permutex2var_epi8(first[0], x.v, first[1]);
    const __m512i high = _mm512_permutex2var_epi8(last[0], x.v, last[1]);
    return {_mm512_mask_blend_epi8(_mm512_movepi8_mask(x.v), low, high)};
  }
};

}  // namespace

extern "C" void look_up_i8_avx512vbmi(const LookUpArgs<int8_t>& args) {
  const Table table = {{Load(args.table).v, Load(args.table + 64).v},
                       {Load(args.table + 128).v, Load(args.table + 192).v}};
  size_t i = 0;
  for (; i + kLanes <= args.n; i += kLanes) Store(args.y + i, table(Load(args.x + i)));
  if (i < args.n) StorePartial(args.y + i, table(LoadPartial(args.x + i, args.n - i)), args.n - i);
}
