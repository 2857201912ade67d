/* A loop over the derivatives that CasADi generated (GENERATED names the file; NQ, NV its sizes; INLINED: with sines and
 * cosines to be inlined). Built as a shared library. */
#ifdef INLINED
#include "sincos.h"
#endif
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


/* n states one after the other; algorithm 0 inverse, 1 forward; each call writes over the results of the one before. */
void bench_loop(int algorithm, long calls, long n, const double* q, const double* v, const double* last, double* by_q,
                double* by_v, double* by_last, double* w, long long* iw) {
  Function volatile chosen = algorithm ? forward : inverse; /* volatile: not inlined into the loop */
  Function f = chosen;
  for (long k = 0, i = 0; k < calls; k++, i = i + 1 < n ? i + 1 : 0) {
    const casadi_real* arguments[3] = {q + i * NQ, v + i * NV, last + i * NV};
    casadi_real* results[3] = {by_q, by_v, by_last};
    f(arguments, results, iw, w, 0);
  }
}
