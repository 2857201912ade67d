// Visible objects: pieces of bodies at their poses, ghosts, ties, traces, frames, arrows; and intersections with rays.

const PALETTE = ["#4878cf", "#e8853a", "#4fa866", "#c8504b", "#8d6cbc", "#b88a5a", "#d77fb4", "#7a8594", "#b3a33a", "#35a5b5"];

const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);

// Decode numbers from base64.
function decoded(text, Kind) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Kind(bytes.buffer);
}

class Scene {
  constructor(given, renderer) {
    this.given = given;
    this.renderer = renderer;
    this.frames = given.frames;
    this.traces = [];
    for (const [name, form] of Object.entries(given.forms)) {
      const { low, step } = form, coarse = decoded(form.points, Uint16Array), points = new Float32Array(coarse.length);
      for (let i = 0; i < points.length; i++) points[i] = low[i % 3] + step[i % 3] * coarse[i];
      const normals = new Float32Array(points.length);
      if (form.normals) decoded(form.normals, Int8Array).forEach((x, i) => { normals[i] = x / 127; });
      renderer.addForm(name, { points, normals, faces: decoded(form.faces, Uint32Array) });
    }
    this.pieces = given.pieces.map(([body, form, stretch, position, look]) => ({ body, form, stretch, position, look }));
    this.byForm = {};
    for (const piece of this.pieces) (this.byForm[piece.form] ||= []).push(piece);
  }

  // R (9 numbers) and p (3) of a frame from the outputs of the program of poses.
  pose(poses, body) {
    if (!body) return { R: [1, 0, 0, 0, 1, 0, 0, 0, 1], p: [0, 0, 0] };
    const k = 12 * (body - 1);
    return { R: poses.subarray(k, k + 9), p: poses.subarray(k + 9, k + 12) };
  }

  place(poses, body, at) {
    const { R, p } = this.pose(poses, body);
    return [0, 1, 2].map((i) => p[i] + R[3 * i] * at[0] + R[3 * i + 1] * at[1] + R[3 * i + 2] * at[2]);
  }

  // Rows of [R stretch | p] of a piece.
  matrix(poses, piece) {
    const { R, p } = this.pose(poses, piece.body), S = piece.stretch, c = piece.position, out = new Float32Array(12);
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) out[4 * i + j] = R[3 * i] * S[j] + R[3 * i + 1] * S[3 + j] + R[3 * i + 2] * S[6 + j];
      out[4 * i + 3] = p[i] + R[3 * i] * c[0] + R[3 * i + 1] * c[1] + R[3 * i + 2] * c[2];
    }
    return out;
  }

  colour(piece, { look, lit, ghost }) {
    if (ghost) return look === "dark" ? [0.32, 0.36, 0.42, 1] : [0.78, 0.8, 0.84, 1];
    let tint = piece.look === "ground" ? (look === "dark" ? [0.36, 0.38, 0.42] : [0.62, 0.64, 0.67]) : rgb(PALETTE[(piece.body - 1) % PALETTE.length]);
    if (lit && lit.has(piece.body)) tint = tint.map((x) => 0.45 + 0.55 * x);
    return [...tint, 1];
  }

  // Instances by form for the poses of several motions, the first one in colour.
  instances(motions, options) {
    const found = {};
    for (const [form, pieces] of Object.entries(this.byForm)) {
      const drawn = motions.flatMap((poses, k) => pieces.filter((piece) => !k || piece.body).map((piece) => [poses, piece, k > 0]));
      const values = found[form] = new Float32Array(16 * drawn.length);
      drawn.forEach(([poses, piece, ghost], i) => {
        values.set(this.matrix(poses, piece), 16 * i);
        values.set(this.colour(piece, { ...options, ghost }), 16 * i + 12);
      });
    }
    return found;
  }

  // Arrows, drawn on top of bodies: heads as cones, shafts as lines; torques have two heads.
  arrows(list) {
    const heads = [], lines = [];
    for (const { from, to, colour, heads: count = 1 } of list) {
      const along = V.sub(to, from), length = V.length(along);
      if (!(length > 1e-9 * this.given.size)) continue;
      const head = Math.min(0.06 * this.given.size, 0.5 * length), z = V.unit(along), x = V.normal(z), y = V.cross(z, x);
      const foot = V.sub(to, V.times(head, z)), r = 0.32 * head;
      for (let k = 0; k < count; k++) heads.push([0, 1, 2].flatMap((i) => [r * x[i], r * y[i], head * z[i], foot[i] - 0.7 * k * head * z[i]]).concat(...colour, 1));
      lines.push(...from, ...foot, ...colour, 1, 3);
    }
    return { instances: heads.length ? { cone: Float32Array.from(heads.flat()) } : {}, lines: Float32Array.from(lines) };
  }

  ties(poses, ink, lines) {
    for (const [a, b, pa, pb] of this.given.ties) {
      const from = this.place(poses, a, pa), to = this.place(poses, b, pb);
      if (V.length(V.sub(from, to)) > 1e-6 * this.given.size) lines.push(...from, ...to, ...ink, 0.7, 2);
    }
  }

  axes(poses, which, lines) {
    const length = 0.12 * this.given.size, colours = [[0.85, 0.2, 0.2], [0.2, 0.65, 0.25], [0.25, 0.4, 0.95]];
    for (const body of which) {
      const { R, p } = this.pose(poses, body);
      for (let j = 0; j < 3; j++) lines.push(...p, ...[0, 1, 2].map((i) => p[i] + length * R[3 * i + j]), ...colours[j], 1, 2.5);
    }
  }

  // The first intersection of a ray: the body, and the point in its frame.
  hit(poses, { origin, along }) {
    let best = null, nearest = Infinity;
    for (const piece of this.pieces) {
      const t = this.distance(poses, piece, origin, along);
      if (t < nearest) { nearest = t; best = piece; }
    }
    if (!best) return null;
    const point = V.add(origin, V.times(nearest, along)), { R, p } = this.pose(poses, best.body), d = V.sub(point, p);
    return { body: best.body, distance: nearest, point, at: [0, 1, 2].map((j) => R[j] * d[0] + R[3 + j] * d[1] + R[6 + j] * d[2]) };
  }

  distance(poses, piece, origin, along) {
    const m = this.matrix(poses, piece), a = [m[0], m[4], m[8]], b = [m[1], m[5], m[9]], c = [m[2], m[6], m[10]];
    const volume = V.dot(a, V.cross(b, c)), d = V.sub(origin, [m[3], m[7], m[11]]);
    if (!volume) return Infinity;
    const inverse = [V.cross(b, c), V.cross(c, a), V.cross(a, b)].map((row) => V.times(1 / volume, row));
    const o = inverse.map((row) => V.dot(row, d)), v = inverse.map((row) => V.dot(row, along));
    const { points, faces } = this.renderer.forms[piece.form];
    let nearest = Infinity;
    for (let i = 0; i < faces.length; i += 3) {
      const [p, q, r] = [0, 1, 2].map((k) => points.subarray(3 * faces[i + k], 3 * faces[i + k] + 3));
      const e = V.sub(q, p), f = V.sub(r, p), h = V.cross(v, f), det = V.dot(e, h);
      if (!det) continue;
      const s = V.sub(o, p), s1 = V.dot(s, h) / det;
      if (s1 < 0 || s1 > 1) continue;
      const k = V.cross(s, e), s2 = V.dot(v, k) / det, t = V.dot(f, k) / det;
      if (s2 >= 0 && s1 + s2 <= 1 && t > 1e-9 && t < nearest) nearest = t;
    }
    return nearest;
  }

  // Lowest point and bounding box of all pieces at some poses.
  bounds(poses, up) {
    let low = Infinity;
    const least = [Infinity, Infinity, Infinity], most = [-Infinity, -Infinity, -Infinity];
    for (const piece of this.pieces) {
      if (piece.form === "square" || V.length([0, 3, 6].map((k) => piece.stretch[k])) > 2.5 * this.given.size) continue;
      const m = this.matrix(poses, piece), { points } = this.renderer.forms[piece.form];
      for (let i = 0; i < points.length; i += 3) {
        const p = [0, 1, 2].map((r) => m[4 * r] * points[i] + m[4 * r + 1] * points[i + 1] + m[4 * r + 2] * points[i + 2] + m[4 * r + 3]);
        low = Math.min(low, V.dot(p, up));
        for (let k = 0; k < 3; k++) { least[k] = Math.min(least[k], p[k]); most[k] = Math.max(most[k], p[k]); }
      }
    }
    if (low === Infinity) return { low: 0, least: [0, 0, 0], most: [0, 0, 0], middle: [0, 0, 0], radius: this.given.size };
    return { low, least, most, middle: V.times(0.5, V.add(least, most)), radius: 0.5 * V.length(V.sub(most, least)) };
  }
}
