/* Sine and cosine to be inlined, by the reduction and the polynomials of kane's own (kane/codegen/emit/trig.py): one
 * angle asked for both is reduced once, because the compiler sees that it is the same. Angles up to 1e6. */
#include <math.h>

/* Quarter turns added to the angle: 0 the sine, 1 the cosine. */
static inline double turned(double x, long quarters) {
  double n = __builtin_rint(x * 0.6366197723675814);
  double near = __builtin_fma(n, -6.123233995736766e-17, __builtin_fma(n, -1.5707963267948966, x));
  double r = __builtin_fma(n, 1.4973849048591698e-33, near), z = near * near, z2 = z * z;
  long k = (long)n + quarters;
  double value;
  if (k & 1) {
    double low = 0.041666666666666664 + z * -0.0013888888888887398;
    double middle = 2.48015872987656e-05 + z * -2.755731727168519e-07;
    double high = 2.0876146259107604e-09 + z * -1.138263175580836e-11;
    value = (1.0 - 0.5 * z + z2 * low) + z2 * z2 * (middle + z2 * high);
  } else {
    double low = -0.16666666666666666 + z * 0.008333333333330948;
    double middle = -0.00019841269836758438 + z * 2.7557316102481144e-06;
    double high = -2.5051131830144625e-08 + z * 1.5918128224337974e-10;
    value = (r + z * near * low) + z * near * z2 * (middle + z2 * high);
  }
  return k & 2 ? -value : value;
}

static inline double inlined_sin(double x) { return turned(x, 0); }
static inline double inlined_cos(double x) { return turned(x, 1); }
#define sin inlined_sin
#define cos inlined_cos
