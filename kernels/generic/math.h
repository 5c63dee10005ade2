// Elementary functions on vectors, written once over the primitives of a vec_<isa>.h, which is
// included before this header.
//
// Polynomials are weighted minimax fits (iteratively reweighted least squares in float64, then
// rounded to float32); the error beside each is the fit's, relative to the result, before float32
// rounding. 2^-24 is 6.0e-8.
#ifndef TRIMTAB_KERNELS_GENERIC_MATH_H_
#define TRIMTAB_KERNELS_GENERIC_MATH_H_

namespace {

// ln 2 in two parts: the high one has 9 bits, so that n * kLn2High is exact for every exponent n
// even without FMA.
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

inline F Abs(F x) { return FromBits(Bits(x) & SetBits(0x7FFFFFFF)); }
inline F CopySign(F magnitude, F sign) {
  return FromBits(Bits(magnitude) | (Bits(sign) & SetBits(0x80000000)));
}

// 2^n for -126 <= n <= 127.
inline F PowerOfTwo(I n) { return FromBits(ShiftLeft<23>(n + SetBits(127))); }

// e^x = 2^n (1 + m) with |m| <= 0.42; returns m. |x| < 2^21.
inline F ExpParts(F x, I* n) {
  // Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits of the sum.
  const F round = Set(12582912.0f);
  const F sum = Fma(x, Set(1.44269504f), round);
  *n = Bits(sum) - Bits(round);
  const F whole = sum - round;
  const F r = Fma(whole, Set(-kLn2Low), Fma(whole, Set(-kLn2High), x));
  F q = Set(1.3813144e-3f);  // (e^r - 1 - r) / r^2 for |r| <= ln(2)/2: 3.3e-9
  q = Fma(q, r, Set(8.3694188e-3f));
  q = Fma(q, r, Set(4.1668456e-2f));
  q = Fma(q, r, Set(1.6666515e-1f));
  q = Fma(q, r, Set(4.9999994e-1f));
  return Fma(r * r, q, r);
}

// x 2^n for |n| <= 252, in two steps because 2^n alone would leave float's range. A vec_<isa>.h may
// have an instruction for it, whose function is no template.
template <class V>
inline V TimesPowerOfTwo(V x, I n) {
  const I half = ShiftRight<1>(n);
  return x * PowerOfTwo(half) * PowerOfTwo(n - half);
}

// e^x, with underflow to 0 through the denormals and overflow to infinity.
inline F Exp(F x) {
  I n;
  const F m = ExpParts(Max(Min(x, Set(89.0f)), Set(-104.0f)), &n);
  return TimesPowerOfTwo(m + Set(1.0f), n);
}

// e^x with x clamped to [-87, 87], where results are normal numbers.
inline F ExpNormal(F x) {
  I n;
  const F m = ExpParts(Max(Min(x, Set(87.0f)), Set(-87.0f)), &n);
  const F scale = PowerOfTwo(n);
  return Fma(m, scale, scale);
}

// e^x for x <= 0, with 0 instead of denormal numbers, whose products take a hundred times as long.
inline F ExpNegative(F x) {
  I n;
  const F lowest = Set(-87.33f);
  const F m = ExpParts(Max(x, lowest), &n);
  const F scale = PowerOfTwo(n);
  return Select(Less(x, lowest), Set(0.0f), Fma(m, scale, scale));
}

// 2^x = power * 2^r with |r| <= 1/2 for -126 <= x <= 126; returns r. The power is a factor, because
// integer arithmetic on the bits of a NaN would lose it.
inline F PowerParts(F x, F* power) {
  const F round = Set(12583039.0f);  // see ExpParts; 127 more, the bias of exponents
  const F sum = x + round;
  *power = FromBits(ShiftLeft<23>(Bits(sum)));
  return x - (sum - round);
}

// 2^(x log2(e) + shift), at most 1, to 2.8e-6 of it, which is enough for elements in f16; 2^-126 for
// all that is less.
inline F PowerForF16(F x, F shift) {
  F power;
  const F r = PowerParts(Max(Fma(x, Set(1.44269504f), shift), Set(-126.0f)), &power);
  F q = Set(9.582853e-3f);  // (2^r - 1) / r for |r| <= 1/2: 2.8e-6 of 2^r
  q = Fma(q, r, Set(5.5906426e-2f));
  q = Fma(q, r, Set(2.4024099e-1f));
  q = Fma(q, r, Set(6.931242e-1f));
  return Fma(q, r, Set(1.0f)) * power;
}

// 1 + 2^x with x clamped to [-126, 126]: relative to e^x, the error of rounding x log2(e) grows with
// x.
inline F OnePlusPowerOfTwo(F x) {
  F power;
  const F r = PowerParts(Max(Min(x, Set(126.0f)), Set(-126.0f)), &power);
  F q = Set(1.32647273e-3f);  // (2^r - 1) / r for |r| <= 1/2: 1.1e-7 of 2^r
  q = Fma(q, r, Set(9.67151299e-3f));
  q = Fma(q, r, Set(5.55073358e-2f));
  q = Fma(q, r, Set(2.40222424e-1f));
  q = Fma(q, r, Set(6.93147004e-1f));
  const F one = Set(1.0f);
  return Fma(Fma(q, r, one), power, one);
}

// e^x - 1 for x <= 0, without cancellation near 0.
inline F ExpMinusOne(F x) {
  I n;
  const F m = ExpParts(Max(x, Set(-87.0f)), &n);
  const F scale = PowerOfTwo(n);
  return Fma(m, scale, scale - Set(1.0f));
}

// ln x for positive normal x.
inline F LogNormal(F x) {
  // x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2).
  const I e = ShiftRight<23>(Bits(x) - SetBits(0x3F3504F3));
  const F f = FromBits(Bits(x) - ShiftLeft<23>(e)) - Set(1.0f);
  const F exponent = ToFloat(e);
  F p = Set(-7.6461017e-2f);  // (ln(1 + f) - f + f^2/2) / f^3: 6.0e-9
  p = Fma(p, f, Set(1.2779114e-1f));
  p = Fma(p, f, Set(-1.3164186e-1f));
  p = Fma(p, f, Set(1.4199696e-1f));
  p = Fma(p, f, Set(-1.6622765e-1f));
  p = Fma(p, f, Set(2.0001292e-1f));
  p = Fma(p, f, Set(-2.5000837e-1f));
  p = Fma(p, f, Set(3.3333331e-1f));
  const F square = f * f;
  F y = Fma(exponent, Set(kLn2Low), square * f * p);
  y = Fma(square, Set(-0.5f), y) + f;
  return Fma(exponent, Set(kLn2High), y);
}

// ln x for any x: -inf at 0, NaN below.
inline F Log(F x) {
  const F smallest = Set(1.17549435e-38f), infinity = Set(__builtin_inff());
  const M denormal = Less(x, smallest);
  F y = LogNormal(Select(denormal, x * Set(8388608.0f), x)) -
        Select(denormal, Set(15.9423851f), Set(0.0f));
  y = Select(Less(x, infinity), y, x);  // infinity and NaN map to themselves
  y = Select(Less(Set(0.0f), Abs(x)), y, Set(0.0f) - infinity);
  return Select(Less(x, Set(0.0f)), Set(__builtin_nanf("")), Select(IsNan(x), x, y));
}

// ln(1 + u) for 0 <= u <= 1; the second term corrects the rounding of 1 + u (Kahan).
inline F LogOnePlus(F u) {
  const F one = Set(1.0f), w = one + u;
  return LogNormal(w) + Divide(u - (w - one), w);
}

// 1 + e^(-alpha x) = 1 + 2^(x scale).
constexpr float kLog2E = 1.44269504f;
inline F LogisticScale(float alpha) { return Set(-alpha * kLog2E); }

inline F Sigmoid(F x) { return Divide(Set(1.0f), OnePlusPowerOfTwo(x * LogisticScale(1.0f))); }

inline F Tanh(F x) {
  const F t = ExpMinusOne(Abs(x) * Set(-2.0f));
  return CopySign(Divide(Set(0.0f) - t, Set(2.0f) + t), x);
}

inline F Erf(F x) {
  const F a = Abs(x), z = x * x;
  F p = Set(7.8538607e-5f);  // erf(x) / x - 1 in x^2 for |x| <= 1: 1.2e-9
  p = Fma(p, z, Set(-8.0101937e-4f));
  p = Fma(p, z, Set(5.1883277e-3f));
  p = Fma(p, z, Set(-2.6853813e-2f));
  p = Fma(p, z, Set(1.1283585e-1f));
  p = Fma(p, z, Set(-3.7612626e-1f));
  p = Fma(p, z, Set(1.2837917e-1f));
  const F small = Fma(x, p, x);
  const F b = Max(Min(a, Set(4.0f)), Set(1.0f));  // 1 - erf(4) is a quarter of 2^-24
  F q = Set(1.8557407e-4f);                       // ln(1 - erf(b)) for 1 <= b <= 4: 1.0e-9 of erf
  q = Fma(q, b, Set(-2.9396079e-3f));
  q = Fma(q, b, Set(2.1805320e-2f));
  q = Fma(q, b, Set(-1.0303737e-1f));
  q = Fma(q, b, Set(-6.3822567e-1f));
  q = Fma(q, b, Set(-1.1270400e0f));
  q = Fma(q, b, Set(-3.5371876e-4f));
  const F large = CopySign(Set(1.0f) - ExpNormal(q), x);
  return Select(Less(Set(1.0f), a), large, small);
}

// The nearest integer, half to even; -0 keeps its sign, NaN and infinity stay.
inline F Round(F x) {
  const F magnitude = Abs(x), whole = Set(8388608.0f);  // 2^23: floats from here on are integers
  return Select(Less(magnitude, whole), CopySign((magnitude + whole) - whole, x), x);
}

inline F Floor(F x) {
  const F near = Round(x);
  return Select(Less(x, near), near - Set(1.0f), near);
}

inline F Ceil(F x) {
  const F near = Round(x);
  return CopySign(Abs(Select(Less(near, x), near + Set(1.0f), near)), x);
}

// sin(x + quarters pi/2). The argument is reduced with pi/2 in four parts, of which the first three
// have 8 to 11 bits: n times each is exact for |n| < 2^13. Beyond |x| = 12,800 the error grows with x.
inline F SinOf(F x, uint32_t quarters) {
  const F round = Set(12582912.0f);  // see ExpParts
  const F sum = x * Set(0.63661977f) + round, n = sum - round;
  F r = x - n * Set(1.5703125f);
  r = r - n * Set(4.837512969970703e-4f);
  r = r - n * Set(7.549533620476723e-8f);
  r = r - n * Set(2.5633441e-12f);
  const F square = r * r;
  F s = Set(-1.9515296e-4f);
  s = Fma(s, square, Set(8.3321609e-3f));
  s = Fma(s, square, Set(-1.6666655e-1f));
  s = Fma(s * square, r, r);
  F c = Set(2.4433157e-5f);
  c = Fma(c, square, Set(-1.3887316e-3f));
  c = Fma(c, square, Set(4.1666646e-2f));
  c = Fma(c * square, square, Fma(square, Set(-0.5f), Set(1.0f)));
  const I quadrant = Bits(sum) + SetBits(quarters);
  const F y = Select(Less(Set(0.0f), ToFloat(quadrant & SetBits(1))), c, s);
  return Select(Less(Set(0.0f), ToFloat(quadrant & SetBits(2))), Set(0.0f) - y, y);
}

inline F Sin(F x) { return SinOf(x, 0); }
inline F Cos(F x) { return SinOf(x, 1); }

}  // namespace

#endif  // TRIMTAB_KERNELS_GENERIC_MATH_H_
