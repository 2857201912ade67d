/* Loops over the C that CasADi generated (GENERATED names the file; NQ, NV its sizes; INLINED: with sines and cosines
 * to be inlined). Built as a shared library. */
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

/* n states one after the other; algorithm 0 inverse, 1 forward; out has NV entries a state. */
void bench_loop(int algorithm, long calls, long n, const double* q, const double* v, const double* last, double* out,
                double* w, long long* iw) {
  Function volatile chosen = algorithm ? forward : inverse; /* volatile: not inlined into the loop */
  Function f = chosen;
  for (long k = 0, i = 0; k < calls; k++, i = i + 1 < n ? i + 1 : 0) {
    const casadi_real* arguments[3] = {q + i * NQ, v + i * NV, last + i * NV};
    casadi_real* results[1] = {out + i * NV};
    f(arguments, results, iw, w, 0);
  }
}

/* The same, but each call waits for the one before: zero, which no compiler knows to be zero, times its results is
 * added to the state. Numbers are read and written one by one, as kane's loop does it, or vectors would wait for parts
 * of them that are not in the cache yet, which is no part of what is measured. */
void bench_chain(int algorithm, long calls, long n, const double* q, const double* v, const double* last, double* out,
                 double* w, long long* iw, double zero) {
  Function volatile chosen = algorithm ? forward : inverse;
  Function f = chosen;
  volatile double q_now[NQ], v_now[NV];
  const double* before = out;
  for (long k = 0, i = 0; k < calls; k++, i = i + 1 < n ? i + 1 : 0) {
    for (int j = 0; j < NQ; j++) q_now[j] = q[i * NQ + j] + zero * before[j < NV ? j : NV - 1];
    for (int j = 0; j < NV; j++) v_now[j] = v[i * NV + j] + zero * before[j];
    const casadi_real* arguments[3] = {(const double*)q_now, (const double*)v_now, last + i * NV};
    casadi_real* results[1] = {out + i * NV};
    f(arguments, results, iw, w, 0);
    before = results[0];
  }
}

#if NQ == NV
static void derivative(const double* x, const double* tau, const double* c, double* dx, double* w, long long* iw) {
  double efforts[NV];
  const casadi_real* arguments[3] = {x, x + NV, efforts};
  casadi_real* results[1] = {dx + NV};
  for (int i = 0; i < NV; i++) dx[i] = x[NV + i], efforts[i] = tau[i] - c[i] * x[NV + i];
  forward(arguments, results, iw, w, 0);
}

static void shifted(double* y, const double* x, double h, const double* dx) {
  for (int i = 0; i < 2 * NV; i++) y[i] = x[i] + h * dx[i];
}

/* The classical Runge-Kutta method of order 4, x = (q, v), constant efforts tau, damping c v. */
void bench_rk4(long steps, double h, double* x, const double* tau, const double* c, double* w, long long* iw) {
  double k1[2 * NV], k2[2 * NV], k3[2 * NV], k4[2 * NV], y[2 * NV];
  for (long s = 0; s < steps; s++) {
    derivative(x, tau, c, k1, w, iw);
    shifted(y, x, h / 2, k1), derivative(y, tau, c, k2, w, iw);
    shifted(y, x, h / 2, k2), derivative(y, tau, c, k3, w, iw);
    shifted(y, x, h, k3), derivative(y, tau, c, k4, w, iw);
    for (int i = 0; i < 2 * NV; i++) x[i] += h / 6 * (k1[i] + 2 * (k2[i] + k3[i]) + k4[i]);
  }
}
#endif
