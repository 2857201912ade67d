/* The most floating-point operations a core can do: CHAINS independent fused multiply-adds a round, all on registers, of
 * WIDTH doubles each. Built as a shared library. */
#if WIDTH > 1
typedef double full __attribute__((vector_size(WIDTH * sizeof(double))));
#else
typedef double full;
#endif

/* out has CHAINS * WIDTH entries, read and written, so that nothing can be left out or known before. */
void bench_multiply_add(long rounds, double* out) {
  full x[CHAINS], factor, term;
  __builtin_memcpy(x, out, sizeof x);
  factor = x[0] - x[0] + 0.999999;
  term = x[0] - x[0] + 1e-6;
  for (long k = 0; k < rounds; k++) {
#pragma GCC unroll 32
    for (int i = 0; i < CHAINS; i++) x[i] = x[i] * factor + term;
  }
  __builtin_memcpy(out, x, sizeof x);
}
