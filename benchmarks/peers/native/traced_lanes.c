/* Loops over the C that CasADi generated, its numbers made vectors of 8 doubles (AVX-512), sine and cosine from glibc's
 * libmvec. GENERATED names the file after `traced_lanes.vectorised`; NQ, NV its sizes. Built as a shared library. */
#include <immintrin.h>
#include <math.h>

typedef double full __attribute__((vector_size(64)));
#define casadi_real full

full _ZGVeN8v_sin(full);
full _ZGVeN8v_cos(full);
#define lanes_sin _ZGVeN8v_sin
#define lanes_cos _ZGVeN8v_cos
#define lanes_sqrt(x) ((full)_mm512_sqrt_pd((__m512d)(x)))
static const full lanes_zero = {0};
#include GENERATED

typedef int (*Function)(const casadi_real**, casadi_real**, casadi_int*, casadi_real*, int);

void bench_work(long long* reals, long long* integers) {
  casadi_int arguments, results, iw, w;
  *reals = *integers = 1;
  inverse_work(&arguments, &results, &iw, &w);
  *reals += w, *integers += iw;
  forward_work(&arguments, &results, &iw, &w);
  *reals += w, *integers += iw;
}

/* n blocks of 8 states, each laid out value by value and aligned to 64 bytes; algorithm 0 inverse, 1 forward. */
void bench_blocks(int algorithm, long calls, long n, const full* q, const full* v, const full* last, full* out, full* w,
                  long long* iw) {
  Function volatile chosen = algorithm ? forward : inverse; /* volatile: not inlined into the loop */
  Function f = chosen;
  for (long k = 0, i = 0; k < calls; k++, i = i + 1 < n ? i + 1 : 0) {
    const casadi_real* arguments[3] = {q + i * NQ, v + i * NV, last + i * NV};
    casadi_real* results[1] = {out + i * NV};
    f(arguments, results, iw, w, 0);
  }
}
