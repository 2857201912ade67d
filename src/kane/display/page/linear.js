// Dense linear algebra of the embedding: Householder QR with column pivoting, Cholesky. Matrices are arrays of rows.
// Source: Golub & Van Loan, Matrix Computations, 4th ed., sections 4.2 and 5.4.

// Vectors in space.
const V = {
  add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
  sub: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  times: (s, a) => [s * a[0], s * a[1], s * a[2]],
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  length: (a) => Math.hypot(a[0], a[1], a[2]),
  unit: (a) => V.times(1 / (V.length(a) || 1), a),
  // Any unit vector normal to a.
  normal: (a) => V.unit(V.cross(a, Math.abs(a[0]) < 0.6 * V.length(a) ? [1, 0, 0] : [0, 1, 0])),
};

// Pivots below this ratio of the largest count as zero, as in kane's native code.
const RANK_TOLERANCE = Math.pow(2, -26);

const zeros = (m, n) => Array.from({ length: m }, () => new Float64Array(n));

// QR of A (m rows, n columns), in place. `order` has the original index of each column. Columns are chosen by pivoting,
// or keep their order if `rank` is given. R is stored above the diagonal, the reflectors below it.
function factorQR(A, n, rank = null) {
  const m = A.length, order = Array.from({ length: n }, (_, k) => k);
  const diag = new Float64Array(n), beta = new Float64Array(n);
  const most = rank === null ? Math.min(m, n) : rank;
  let found = 0;
  for (let k = 0; k < most; k++) {
    if (rank === null) {
      let longest = -1, chosen = k;
      for (let j = k; j < n; j++) {
        let norm = 0;
        for (let i = k; i < m; i++) norm += A[i][j] * A[i][j];
        if (norm > longest * (1 + 1e-10)) { longest = norm; chosen = j; }
      }
      if (!(Math.sqrt(longest) > RANK_TOLERANCE * (k ? Math.abs(diag[0]) : 0))) break;
      if (chosen !== k) {
        [order[k], order[chosen]] = [order[chosen], order[k]];
        for (let i = 0; i < m; i++) [A[i][k], A[i][chosen]] = [A[i][chosen], A[i][k]];
      }
    }
    let size = 0;
    for (let i = k; i < m; i++) size += A[i][k] * A[i][k];
    const norm = Math.sqrt(size);
    if (norm > 0) {
      beta[k] = 1 / (size + norm * Math.abs(A[k][k]));
      diag[k] = A[k][k] < 0 ? norm : -norm;
      A[k][k] -= diag[k];
    }
    for (let j = k + 1; j < n; j++) {
      let w = 0;
      for (let i = k; i < m; i++) w += A[i][k] * A[i][j];
      w *= beta[k];
      for (let i = k; i < m; i++) A[i][j] -= A[i][k] * w;
    }
    found = k + 1;
  }
  return { A, n, order, diag, beta, rank: found };
}

function reflect(f, k, x) {
  let total = 0;
  for (let i = k; i < x.length; i++) total += f.A[i][k] * x[i];
  total *= f.beta[k];
  for (let i = k; i < x.length; i++) x[i] -= total * f.A[i][k];
}

function tinyPivot(f) {
  let largest = 0;
  for (let k = 0; k < f.rank; k++) largest = Math.max(largest, Math.abs(f.diag[k]));
  return RANK_TOLERANCE * largest;
}

// R^-1 Q^T b, with one entry for each dependent column.
function solveQR(f, b) {
  const x = Float64Array.from(b), tiny = tinyPivot(f);
  for (let k = 0; k < f.rank; k++) reflect(f, k, x);
  for (let k = f.rank - 1; k >= 0; k--) {
    x[k] = Math.abs(f.diag[k]) > tiny ? x[k] / f.diag[k] : 0;
    for (let i = 0; i < k; i++) x[i] -= f.A[i][k] * x[k];
  }
  return x;
}

// D = -R^-1 (columns beyond the rank): u_d = D u_i.
function dependentQR(f) {
  const D = zeros(f.rank, f.n), tiny = tinyPivot(f);
  for (let j = f.rank; j < f.n; j++) {
    for (let k = f.rank - 1; k >= 0; k--) {
      let x = -f.A[k][j];
      for (let i = k + 1; i < f.rank; i++) x -= f.A[k][i] * D[i][j];
      D[k][j] = Math.abs(f.diag[k]) > tiny ? x / f.diag[k] : 0;
    }
  }
  return D;
}

// The minimum-norm s with A s = b, A of p rows and n columns; rows beyond the rank are redundant.
function leastSolution(A, n, b) {
  const transposed = zeros(n, A.length);
  for (let i = 0; i < A.length; i++) for (let j = 0; j < n; j++) transposed[j][i] = A[i][j];
  const f = factorQR(transposed, A.length), s = new Float64Array(n);
  for (let k = 0; k < f.rank; k++) {
    let total = b[f.order[k]];
    for (let i = 0; i < k; i++) total -= f.A[i][k] * s[i];
    s[k] = total / f.diag[k];
  }
  for (let k = f.rank - 1; k >= 0; k--) reflect(f, k, s);
  return s;
}

// Solve M y = x by Cholesky, in place; NaN unless M is numerically positive definite.
function solvePositive(M, x) {
  const n = x.length;
  for (let k = 0; k < n; k++) {
    const row = M[k], own = row[k];
    let pivot = own;
    for (let i = 0; i < k; i++) pivot -= row[i] * row[i];
    if (!(pivot > n * 2 ** -52 * own)) return x.fill(NaN);
    row[k] = Math.sqrt(pivot);
    for (let j = k + 1; j < n; j++) {
      let total = M[j][k];
      for (let i = 0; i < k; i++) total -= M[j][i] * row[i];
      M[j][k] = total / row[k];
    }
  }
  for (let k = 0; k < n; k++) {
    for (let i = 0; i < k; i++) x[k] -= M[k][i] * x[i];
    x[k] /= M[k][k];
  }
  for (let k = n - 1; k >= 0; k--) {
    for (let i = k + 1; i < n; i++) x[k] -= M[i][k] * x[i];
    x[k] /= M[k][k];
  }
  return x;
}
