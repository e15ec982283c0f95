// Elementary functions of double that give the same bits with every compiler, C library and
// processor: they use only operations that IEEE 754 defines to the bit, such as + and /.
//
// The C library's functions differ between its versions and between processors.
#pragma once

namespace xgrad::portable {

/// e^x; error below 1 ulp.
double exp(double x);
/// 2^x; error below 1 ulp. Exact for an integer x.
double exp2(double x);
/// The natural logarithm; error below 0.6 ulp. NaN below 0, -inf at 0.
double log(double x);
/// log(1 + x); error below 0.8 ulp, also near 0.
double log1p(double x);
/// x^y; error below 1 ulp, and IEEE 754's values at 0, 1, infinity and NaN.
double pow(double x, double y);
/// The sine; error below 1 ulp. NaN unless |x| < 1e15.
double sin(double x);
/// The cosine; error below 1 ulp. NaN unless |x| < 1e15.
double cos(double x);
/// The hyperbolic tangent; error below 3 ulp.
double tanh(double x);
/// The error function; error below 2 ulp.
double erf(double x);

}  // namespace xgrad::portable
