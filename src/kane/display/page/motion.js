// The equations of motion in the browser: constraints embedded at each state (u_d = D u_i + e, M~ = R^T M R), states
// projected onto the constraints, steps of Dormand and Prince's pair 5(4). kane derived the programs.
// Source: Gillespie 2003, Eqs. 4-5, 43-45; Dormand & Prince 1980.

// A program with its parameter-dependent constants and its outputs.
class Compiled {
  constructor(program, parameters) {
    this.program = program;
    this.stage = new Float64Array(program.stages);
    this.out = new Float64Array(program.outputs.length);
    program.stage(parameters, this.stage);
  }

  at(state, rest) {
    this.program.main(state, rest, this.stage, this.out);
    return this.out;
  }
}

const SMALL = 1e-14;  // residuals [m or rad] below this are rounding in mechanisms of metres
const WORSE = 0.5;    // dependent speeds are selected again if their smallest pivot is below this ratio of the best

class Motion {
  // `given`: sizes and lists from Python; `programs`: programs by name.
  constructor(given, programs) {
    this.given = given;
    this.programs = programs;
    this.parameters = Float64Array.from(given.parameters.map((p) => p.value));
    this.inputs = Float64Array.from(given.inputs.map((p) => p.value));
    this.n = given.speeds.length;
    this.nq = given.coordinates.length;
    this.m = given.rows;
    this.time = 0;
    this.x = Float64Array.from([...given.neutral, ...new Array(this.n).fill(0)]);
    this.pull = null;
    this.order = null;
    this.residual = 0;
    this.step = 1e-3;
    this.steps = 0;
    this.evaluations = 0;
    this.reload();
  }

  // Recompute the parameter-dependent constants.
  reload() {
    this.compiled = {};
    for (const [name, program] of Object.entries(this.programs)) {
      if (program) this.compiled[name] = new Compiled(program, this.parameters);
    }
    this.order = null;
  }

  has(name) { return name in this.compiled; }

  poses(x = this.x, t = this.time) { return this.compiled.poses.at(this.state(t, x), []); }

  // Kinetic and potential energy.
  energy() { return this.has("energy") ? this.compiled.energy.at(this.state(this.time, this.x), []) : null; }

  state(t, x) {
    const s = new Float64Array(1 + x.length);
    s[0] = t;
    s.set(x, 1);
    return s;
  }

  // QR factors of A at a state, with columns in the given order if there is one, and the residual A u + b.
  factored(s, order) {
    const { n, m } = this, out = this.compiled.constraints.at(s, this.inputs), A = zeros(m, n);
    for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) A[i][j] = out[i * n + (order ? order.columns[j] : j)];
    const f = factorQR(A, n, order ? order.rank : null);
    f.columns = order ? order.columns : f.order;
    f.motion = out.slice(m * n, m * n + m);
    return f;
  }

  // Set u_d from u_i in the state s.
  dependent(s, f) {
    const first = 1 + this.nq;
    for (let pass = 0; pass < (this.given.linear ? 1 : 20); pass++) {
      const g = pass ? this.factored(s, { columns: f.columns, rank: f.rank }) : f;
      const x = solveQR(g, g.motion);
      let change = 0, size = 0;
      for (let k = 0; k < f.rank; k++) {
        const j = first + f.columns[k];
        s[j] -= x[k];
        change = Math.max(change, Math.abs(x[k]));
        size = Math.max(size, Math.abs(s[j]));
      }
      if (change <= 1e-14 * size) break;
    }
  }

  // Generalized forces of the mouse spring, Q_r = f . v_P_r. Velocities are linear in the speeds, so that unit speeds
  // give the exact partial velocities.
  pullForces(s) {
    const { n, nq, pull } = this, k = 6 * (pull.body - 1), at = this.point(s), arm = V.sub(at, this.point(s, [0, 0, 0]));
    const velocity = (state) => { const out = this.compiled.velocities.at(state, []); return V.add(out.slice(k, k + 3), V.cross(out.slice(k + 3, k + 6), arm)); };
    const v = velocity(s), unit = Float64Array.from(s).fill(0, 1 + nq), still = velocity(unit);
    const force = [0, 1, 2].map((i) => pull.stiffness * (pull.target[i] - at[i]) - pull.damping * v[i]);
    return Float64Array.from({ length: n }, (_, r) => {
      unit.fill(0, 1 + nq);
      unit[1 + nq + r] = 1;
      return V.dot(force, V.sub(velocity(unit), still));
    });
  }

  // Reactions by auxiliary speeds: R = needed_k - A_k^T lambda, where A^T lambda = needed for the joints' own speeds.
  reactions({ own, count, rows }) {
    const s = this.state(this.time, this.x), udot = this.rhs(this.time, this.x).subarray(this.nq), width = own + count;
    const out = this.compiled.reactions.at(s, [...udot, ...this.inputs]), entry = (i, j) => out[width * (i + 1) + j];
    const A = zeros(own, rows), found = Array.from(out.subarray(own, width));
    if (!rows) return found;
    for (let j = 0; j < own; j++) for (let i = 0; i < rows; i++) A[j][i] = entry(i, j);
    const multipliers = leastSolution(A, rows, out.subarray(0, own));
    return found.map((x, k) => { for (let i = 0; i < rows; i++) x -= entry(i, own + k) * multipliers[i]; return x; });
  }

  // Multipliers lambda of the constraint rows: A^T lambda = M udot + h, of minimum norm.
  multipliers(s, udot) {
    const { n, m } = this, A = this.compiled.constraints.at(s, this.inputs).slice(0, m * n), transposed = zeros(n, m);
    for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) transposed[j][i] = A[i * n + j];
    const out = this.compiled.unconstrained.at(s, this.inputs), half = n * (n + 1) / 2, needed = Float64Array.from(out.subarray(half, half + n));
    for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) needed[i] += out[i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i] * udot[j];
    return leastSolution(transposed, m, needed);
  }

  // Force, its arm from a point of the body, and torque of each load, joint and constraint now.
  acting(asked) {
    if (!asked.parts.length || (this.pull && asked.reactions)) return [];  // derived reactions do not include the mouse spring
    const units = Float64Array.from(this.compiled.exerted.at(this.state(this.time, this.x), this.inputs));
    const reactions = asked.reactions ? this.reactions(asked.reactions) : [];
    return asked.parts.map(({ name, body, at, first, rows, multipliers }) => {
      const scale = (k) => (multipliers === null ? 1 : reactions[multipliers + k]), unit = (k, torque) => units.subarray(first + 3 * (k + (torque ? rows : 0)), first + 3 * (k + (torque ? rows : 0)) + 3);
      const sum = (torque) => [0, 1, 2].map((i) => { let x = 0; for (let k = 0; k < rows; k++) x += scale(k) * unit(k, torque)[i]; return x; });
      const force = sum(false), arm = multipliers === null ? [0, 0, 0] : this.arm(rows, unit);
      return { name, body, at, arm, force, torque: V.sub(sum(true), V.cross(arm, force)) };
    });
  }

  // The arm a that minimizes the sum of |a x f - t|^2 over the rows.
  arm(rows, unit) {
    const A = zeros(3, 3), b = [0, 0, 0];
    for (let k = 0; k < rows; k++) {
      const f = unit(k, false), moment = V.cross(f, unit(k, true)), square = V.dot(f, f);
      for (let i = 0; i < 3; i++) {
        b[i] += moment[i];
        for (let j = 0; j < 3; j++) A[i][j] += (i === j ? square : 0) - f[i] * f[j];
      }
    }
    return Array.from(leastSolution(A, 3, b));
  }

  rates(s) { return this.compiled.kinematics.at(s, []); }

  // Position in N of the point that the mouse holds, or of another point of its body.
  point(s, at = this.pull.at) {
    const { body } = this.pull;
    if (!body) return at;
    const out = this.compiled.poses.at(s, []), k = 12 * (body - 1);
    return [0, 1, 2].map((i) => out[k + 9 + i] + out[k + 3 * i] * at[0] + out[k + 3 * i + 1] * at[1]
      + out[k + 3 * i + 2] * at[2]);
  }

  // d/dt of x = [q, u].
  rhs(t, x) {
    this.evaluations += 1;
    const { n, nq, m } = this, s = this.state(t, x);
    let f = null;
    if (m) {
      f = this.factored(s, this.order);
      this.dependent(s, f);
    }
    const out = this.compiled.unconstrained.at(s, this.inputs);
    const h = Float64Array.from(out.subarray(n * (n + 1) / 2, n * (n + 1) / 2 + n));
    const remainder = out.slice(h.length + n * (n + 1) / 2, h.length + n * (n + 1) / 2 + m);
    const rates = out.slice(out.length - nq);
    const mass = (i, j) => (i >= j ? lower[i * (i + 1) / 2 + j] : lower[j * (j + 1) / 2 + i]);
    const lower = out.slice(0, n * (n + 1) / 2);
    if (this.pull) this.pullForces(s).forEach((Q, r) => { h[r] -= Q; });
    const udot = f ? this.embedded(f, mass, h, remainder) : this.free(mass, h);
    const result = new Float64Array(nq + n);
    result.set(rates);
    result.set(udot, nq);
    return result;
  }

  free(mass, h) {
    const M = zeros(this.n, this.n);
    for (let i = 0; i < this.n; i++) for (let j = 0; j <= i; j++) M[i][j] = mass(i, j);
    return solvePositive(M, h.map((x) => -x));
  }

  // M~ udot_i = -R^T (h + M e_t), udot_d = D udot_i + e_t.
  embedded(f, mass, h, remainder) {
    const { n } = this, { rank, columns } = f, D = dependentQR(f), e = solveQR(f, remainder).map((x) => -x);
    const M = zeros(n, n), W = zeros(n, n), left = n - rank;
    for (let k = 0; k < n; k++) for (let l = 0; l < n; l++) M[k][l] = mass(columns[k], columns[l]);
    for (let i = 0; i < n; i++) {
      for (let j = rank; j < n; j++) {
        W[i][j] = M[i][j];
        for (let k = 0; k < rank; k++) W[i][j] += M[i][k] * D[k][j];
      }
    }
    const reduced = zeros(left, left), z = new Float64Array(n), udot = new Float64Array(left);
    for (let i = 0; i < n; i++) {
      z[i] = h[columns[i]];
      for (let k = 0; k < rank; k++) z[i] += M[i][k] * e[k];
    }
    for (let i = 0; i < left; i++) {
      udot[i] = -z[rank + i];
      for (let k = 0; k < rank; k++) udot[i] -= D[k][rank + i] * z[k];
      for (let j = 0; j <= i; j++) {
        reduced[i][j] = W[rank + i][rank + j];
        for (let k = 0; k < rank; k++) reduced[i][j] += D[k][rank + i] * W[k][rank + j];
      }
    }
    solvePositive(reduced, udot);
    const all = new Float64Array(n);
    for (let k = 0; k < rank; k++) {
      all[columns[k]] = e[k];
      for (let j = 0; j < left; j++) all[columns[k]] += D[k][rank + j] * udot[j];
    }
    for (let j = 0; j < left; j++) all[columns[rank + j]] = udot[j];
    return all;
  }

  normalise(s) {
    for (const start of this.given.quaternions) {
      let length = 0;
      for (let i = 1 + start; i < 5 + start; i++) length += s[i] * s[i];
      length = Math.sqrt(length);
      for (let i = 1 + start; i < 5 + start; i++) s[i] /= length;
    }
  }

  largest(values) {
    let most = 0;
    for (const x of values) most = Math.abs(x) <= most ? most : Math.abs(x);
    return most;
  }

  // Project q onto the configuration constraints by minimum-norm motions of the joints' own speeds; speeds that move a
  // held coordinate stay zero. Returns the remaining residual.
  close(s, held = []) {
    const own = this.given.own, nq = this.nq, p = own.closing.length;
    if (!p) return 0;
    const [rowsOf, residualOf, ratesOf] = ["own_constraints", "configuration", "own_kinematics"]
      .map((name) => this.compiled[name] || this.compiled[name.replace("own_", "")]);
    const given = new Float64Array(1 + nq + own.n);
    const residual = () => Float64Array.from(residualOf.at(given, this.inputs));
    given.set(s.subarray(0, 1 + nq));
    let phi = residual(), size = this.largest(phi);
    const still = Float64Array.from(ratesOf.at(given, []));
    for (let pass = 0; pass < 50 && size > SMALL; pass++) {
      given.fill(0, 1 + nq);
      const out = rowsOf.at(given, this.inputs), A = zeros(p, own.n);
      own.closing.forEach((row, i) => { for (let j = 0; j < own.n; j++) A[i][j] = out[row * own.n + j]; });
      for (const j of this.moving(held, given, ratesOf)) for (let i = 0; i < p; i++) A[i][j] = 0;
      given.fill(0, 1 + nq);
      given.set(leastSolution(A, own.n, phi.map((x) => -x)), 1 + nq);
      const slope = Float64Array.from(ratesOf.at(given, []), (x, i) => x - still[i]), before = given.slice(1, 1 + nq);
      let share = 1, found = size;
      for (let halving = 0; halving < 10; halving++) {
        for (let i = 0; i < nq; i++) given[1 + i] = before[i] + share * slope[i];
        this.normalise(given);
        phi = residual();
        found = this.largest(phi);
        if (found < size) break;
        share *= size > 1e3 * SMALL ? 0.5 : 0;
      }
      if (!(found < size)) {
        given.set(before, 1);
        break;
      }
      size = found;
    }
    s.set(given.subarray(1, 1 + nq), 1);
    return size;
  }

  // Indices of the joints' own speeds that move held coordinates.
  moving(held, given, ratesOf) {
    const own = this.given.own, found = [];
    if (!held.length) return found;
    for (let j = 0; j < own.n; j++) {
      given.fill(0, 1 + this.nq);
      given[1 + this.nq + j] = 1;
      const rates = ratesOf.at(given, []);
      if (held.some((i) => Math.abs(rates[i]) > 1e-9)) found.push(j);
    }
    return found;
  }

  // Project the state onto its constraints; keep the independent speeds while their pivots are large enough.
  settle(held = []) {
    const s = this.state(this.time, this.x);
    this.normalise(s);
    this.residual = this.close(s, held);
    if (this.m) {
      const best = this.factored(s, null);
      const pivot = (f) => { let x = Infinity; for (let k = 0; k < f.rank; k++) x = Math.min(x, Math.abs(f.diag[k])); return x; };
      let f = this.order && this.order.rank === best.rank ? this.factored(s, this.order) : best;
      if (f !== best && !(pivot(f) >= WORSE * pivot(best))) f = best;
      this.order = { columns: Array.from(f.columns), rank: f.rank };
      this.dependent(s, f);
    }
    this.x.set(s.subarray(1));
  }

  // Integrate to t for at most `budget` milliseconds; return whether t was reached.
  advance(t, budget = Infinity) {
    const began = performance.now();
    while (this.time < t) {
      if (performance.now() - began > budget) return false;
      const h = Math.min(this.step, t - this.time), last = h === t - this.time;
      const { x, error } = this.tried(h);
      const grown = Number.isFinite(error) ? 0.9 * Math.pow(Math.max(error, 1e-8), -0.2) : 0.2;
      if (!(error <= 1)) {
        this.step = h * Math.max(0.2, Math.min(grown, 0.9));
        if (this.step < 1e-13 * Math.max(1, Math.abs(this.time))) throw new Error(`no step is short enough at t = ${this.time.toPrecision(6)} s`);
        continue;
      }
      this.x = x;
      this.time = last ? t : this.time + h;
      this.settle();
      this.steps += 1;
      this.step = Math.max(last ? this.step : 0, h * Math.min(5, grown));
    }
    return true;
  }

  // One step of length h: the new state, and its error divided by the tolerance.
  tried(h) {
    const { x, time } = this, k = [];
    for (let i = 0; i < 7; i++) {
      const y = Float64Array.from(x);
      PAIR.a[i].forEach((a, j) => { if (a) for (let l = 0; l < y.length; l++) y[l] += h * a * k[j][l]; });
      k.push(this.rhs(time + PAIR.c[i] * h, y));
    }
    const end = Float64Array.from(x);
    let error = 0;
    for (let l = 0; l < x.length; l++) {
      let change = 0, off = 0;
      for (let i = 0; i < 7; i++) { change += PAIR.a[6][i] ? PAIR.a[6][i] * k[i][l] : 0; off += PAIR.e[i] * k[i][l]; }
      end[l] += h * change;
      const allowed = this.given.tolerance * (1 + Math.max(Math.abs(x[l]), Math.abs(end[l])));
      error = Math.max(error, Math.abs(h * off) / allowed);
      if (!Number.isFinite(end[l])) error = NaN;
    }
    return { x: end, error };
  }
}

const PAIR = {
  c: [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1],
  a: [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
  ],
  e: [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40],
};
