// The page: a mechanism moved by sliders, a recorded run, equations integrated here, or a stream from a server.

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];
const RECORD = 20;  // seconds that the plots of a live page cover
// Levels of quality: pixels relative to the screen, smooth edges, pixels of shadows. Still pictures use the best level.
const LEVELS = [[1, true, 1024], [1, false, 1024], [0.75, false, 512], [0.5, false, 512]].map(([pixels, smooth, shadow]) => ({ pixels, smooth, shadow }));
const FAR = 3;  // largest extent of a run, in sizes of the mechanism, that the camera shows as a whole
const SEEN = 0.1;  // largest distance of the mechanism from the target, in camera distances
const STILL = 12;  // unchanged frames after which a picture counts as still

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [word, value] of Object.entries(properties)) {
    if (word.startsWith("on")) made.addEventListener(word.slice(2), value);
    else if (word in made && word !== "list") made[word] = value;
    else made.setAttribute(word, value);
  }
  made.append(...children);
  return made;
}

const shortly = (x) => (Math.abs(x) >= 1e5 || (x && Math.abs(x) < 1e-3) ? x.toExponential(2) : String(Number(x.toPrecision(4))));

class Page {
  constructor(data, programs) {
    this.data = data;
    this.mode = data.mode;
    this.canvas = document.getElementById("stage");
    this.motion = new Motion(data.motion, programs);
    this.renderer = new Renderer(this.canvas);
    this.scene = new Scene(data.scene, this.renderer);
    this.up = data.scene.up;
    this.runs = data.runs.map((run) => this.unpacked(run));
    this.playing = this.mode === "run" || this.mode === "live";
    this.speed = 1;
    this.loop = true;
    this.cursor = this.runs.length ? this.runs[0].time[0] : 0;
    this.shown = { traces: data.traces.length > 0, frames: false, ghosts: true, arrows: data.arrows.length > 0, ground: !data.scene.pieces.some((p) => p[1] === "square"), follow: 0 };
    this.scales = { ...data.scales };
    this.stretched = { force: 1, torque: 1 };
    this.trails = data.traces.map((t) => ({ ...t, points: [] }));
    this.record = { time: [], values: {} };
    this.plotted = data.plots.slice();
    this.frames = 0;
    this.level = 0;
    this.hopes = 3;
    this.still = 0;
    this.began = performance.now();
    this.setLook(data.look || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
    if (data.hand) this.renderer.addForm("hand", { ...this.renderer.forms.ball, normals: this.renderer.forms.ball.points });
    this.build();
    this.start();
    this.aim();
    this.listen();
    this.listenHand();
    requestAnimationFrame((now) => this.frame(now));
  }

  unpacked(run) {
    const time = decoded(run.time, Float64Array), series = {};
    for (const [name, text] of Object.entries(run.series)) series[name] = decoded(text, Float32Array);
    const of = (text) => (text ? decoded(text, Float32Array) : null);
    const arrows = run.arrows.map((a) => ({ ...a, arm: of(a.arm), force: of(a.force), torque: of(a.torque) }));
    return { ...run, time, q: decoded(run.q, Float32Array), series, arrows };
  }

  // Set the initial state, at the start and on reset.
  start() {
    const { motion, data } = this;
    motion.time = data.start.time;
    motion.x = Float64Array.from(data.start.x);
    motion.pull = null;
    motion.order = null;
    motion.step = 1e-3;
    motion.steps = motion.evaluations = 0;
    if (this.mode !== "run") motion.settle();
    this.clock = motion.time;
    this.energyAtStart = this.energy();
    this.record = { time: [], values: {} };
    for (const trail of this.trails) trail.points = [];
    this.stopped = "";
    this.say("");
  }

  energy() {
    const found = this.mode === "live" ? this.motion.energy() : null;
    return found ? found[0] + found[1] : NaN;
  }

  // Aim the camera at a whole run if its extent is below FAR, else at the current pose; put the ground below everything.
  aim() {
    const now = this.scene.bounds(this.posesNow(), this.up), all = this.boundsOfRun(now);
    const { middle, radius } = all.radius < FAR * now.radius ? all : now;
    this.floor = all.low - 0.02 * this.data.scene.size;
    const round = Math.max(radius, 0.3 * this.data.scene.size);
    const free = this.canvas.clientWidth - this.covered();
    const fit = Math.max(1, 1.25 / Math.max(0.4, free / Math.max(1, this.canvas.clientHeight)));
    this.camera = new Camera(this.up, V.sub(middle, V.times(0.12 * round, this.up)), 3.7 * round * fit);
    if (this.data.flat) {
      this.camera.pitch = 0.12;
      this.camera.yaw = Math.atan2(V.dot(this.data.flat, this.camera.basis.second), V.dot(this.data.flat, this.camera.basis.first)) - 0.25;
    }
  }

  // Bounds of the current pose and of poses at some times of a run.
  boundsOfRun(now) {
    const run = this.runs[0], found = [now], count = 24;
    if (!run) return now;
    for (let k = 0; k < count; k++) {
      const t = run.time[0] + (run.time[run.time.length - 1] - run.time[0]) * k / (count - 1);
      found.push(this.scene.bounds(Float64Array.from(this.posesAt(run, t)), this.up));
    }
    const least = [0, 1, 2].map((i) => Math.min(...found.map((b) => b.least[i]))), most = [0, 1, 2].map((i) => Math.max(...found.map((b) => b.most[i])));
    return { low: Math.min(...found.map((b) => b.low)), middle: V.times(0.5, V.add(least, most)), radius: 0.5 * V.length(V.sub(most, least)) };
  }

  // Width at the right that the panel covers [pixels].
  covered() {
    const box = this.panel.getBoundingClientRect(), beside = box.width > 0 && box.width < this.canvas.clientWidth / 2;
    return beside ? this.canvas.clientWidth - box.left : 0;
  }

  // Interpolated coordinates of a run at time t.
  stateAt(run, t) {
    const { time, q } = run, nq = this.motion.nq;
    let low = 0, high = time.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (time[middle] <= t) low = middle; else high = middle; }
    const share = high > low ? Math.max(0, Math.min(1, (t - time[low]) / (time[high] - time[low]))) : 0;
    const s = new Float64Array(1 + nq + this.motion.n);
    s[0] = t;
    const opposite = this.data.motion.quaternions.map((start) => {
      let dot = 0;
      for (let i = start; i < start + 4; i++) dot += q[low * nq + i] * q[high * nq + i];
      return dot < 0 ? start : -1;
    });
    for (let i = 0; i < nq; i++) {
      const sign = opposite.some((start) => start >= 0 && i >= start && i < start + 4) ? -1 : 1;
      s[1 + i] = (1 - share) * q[low * nq + i] + share * sign * q[high * nq + i];
    }
    this.motion.normalise(s);
    return { s, low, high, share };
  }

  posesAt(run, t) { return this.motion.poses(this.stateAt(run, t).s.subarray(1), t); }

  posesNow() {
    const run = this.mode === "run" ? this.runs[0] : null;
    return Float64Array.from(run ? this.posesAt(run, this.cursor) : this.motion.poses());
  }

  setLook(look) {
    this.look = look;
    document.documentElement.dataset.look = look;
  }

  say(text) {
    let box = document.getElementById("message");
    if (!text) { if (box) box.remove(); return; }
    if (!box) document.body.append(box = element("div", { id: "message", className: "card", role: "alert" }));
    box.textContent = text;
  }

  // Advance by one frame, and draw it.
  frame(now) {
    const dt = Math.min(0.1, (now - (this.last || now)) / 1000) * this.speed;
    this.last = now;
    this.frames += 1;
    if (this.mode === "run" && this.playing) this.play(dt);
    if (this.mode === "live" && this.playing && !this.stopped) this.integrate(dt);
    const seen = this.appearance();
    if (seen !== this.drawn) { this.drawn = seen; this.stale = true; this.still = 0; this.adapt(now); this.render(); }
    else if (++this.still === STILL && this.level) this.render(LEVELS[0]);
    if (this.still) this.before = now;
    this.tell();
    requestAnimationFrame((next) => this.frame(next));
  }

  // Text of everything that affects the picture; if it does not change, nothing is drawn.
  appearance() {
    const { camera, canvas, motion, shown } = this;
    return [camera.yaw, camera.pitch, camera.distance, camera.target, canvas.clientWidth, canvas.clientHeight, this.level, this.look, this.cursor,
      motion.time, motion.x.join(), JSON.stringify(shown), this.stretched.force, this.stretched.torque, motion.pull && motion.pull.target, this.plotted, this.explained && this.explained.place].join(";");
  }

  // Lower the quality if frames are slow; raise it again if they are fast, a limited number of times.
  adapt(now) {
    const took = now - (this.before || now);
    this.before = now;
    if (!(took > 0 && took < 1000) || document.hidden) return;
    this.interval = 0.9 * (this.interval || 16) + 0.1 * took;
    this.quick = this.interval < 18 ? (this.quick || 0) + 1 : 0;
    if (this.interval > 25 && this.level < LEVELS.length - 1) this.draw(this.level + 1);
    else if (this.quick > 180 && this.level && this.hopes) { this.hopes -= 1; this.draw(this.level - 1); }
  }

  draw(level) {
    this.level = level;
    this.interval = 16;
    this.quick = 0;
    this.renderer.shadowMap(LEVELS[level].shadow);
  }

  play(dt) {
    const { time } = this.runs[0], first = time[0], end = time[time.length - 1];
    this.cursor += dt * Math.sign(end - first || 1);
    if ((this.cursor - end) * Math.sign(end - first || 1) > 0) {
      if (this.loop) this.cursor = first;
      else { this.cursor = end; this.toggle(false); }
    }
  }

  integrate(dt) {
    const motion = this.motion, before = performance.now(), from = motion.time;
    this.clock = Math.max(this.clock, from - 1) + dt;
    try {
      if (!motion.advance(this.clock, 14)) this.clock = motion.time;
    } catch (problem) {
      this.stopped = `The motion ended: ${problem.message}. Press R to begin again.`;
      this.say(this.stopped);
    }
    this.pace = 0.95 * (this.pace || 1) + 0.05 * (motion.time - from) / Math.max(1e-9, dt);
    this.spent = 0.95 * (this.spent || 0) + 0.05 * (performance.now() - before);
    this.remember();
  }

  // Record values for the plots of a live page or of a stream.
  remember() {
    const { record, motion } = this;
    record.time.push(motion.time);
    const energies = this.mode === "live" ? motion.energy() : null;
    const names = [...this.data.motion.coordinates, ...this.data.motion.speeds].map((c) => c.name);
    names.forEach((name, i) => (record.values[name] ||= []).push(motion.x[i]));
    if (energies) (record.values.energy ||= []).push(energies[0] + energies[1]);
    for (const [name, value] of this.courses || []) (record.values[name] ||= []).push(value);
    if (record.time[0] < motion.time - RECORD) {
      record.time.shift();
      for (const values of Object.values(record.values)) values.shift();
    }
    for (const trail of this.trails) {
      trail.points.push(this.scene.place(motion.poses(), trail.body, trail.at));
      if (trail.points.length > 60 * RECORD) trail.points.shift();
    }
  }

  render({ pixels, smooth } = LEVELS[this.level]) {
    const { canvas, scene, shown } = this, ratio = pixels * Math.min(2, window.devicePixelRatio || 1);
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    this.camera.aside = this.covered() / canvas.clientWidth;
    const poses = this.posesNow(), motions = [poses];
    if (this.mode === "run" && shown.ghosts) for (const run of this.runs.slice(1)) motions.push(Float64Array.from(this.posesAt(run, this.cursor)));
    if (shown.follow) {
      const at = scene.place(poses, shown.follow, [0, 0, 0]);
      if (this.followed) this.camera.target = V.add(this.camera.target, V.sub(at, this.followed));
      this.followed = at;
    } else {
      this.followed = null;
      this.keepInView(poses);
    }
    const lines = [], ink = LOOKS[this.look].ink, instances = scene.instances(motions, { look: this.look, lit: this.lit(), ghost: false });
    scene.ties(poses, ink, lines);
    if (shown.traces) this.drawTraces(lines);
    if (shown.frames) scene.axes(poses, [...scene.frames.keys()], lines);
    const above = scene.arrows([...(shown.arrows ? this.arrowsNow(poses) : []), ...this.pullArrow(poses)]);
    this.drawHand(poses, lines, above);
    const cell = 10 ** Math.round(Math.log10(0.35 * this.data.scene.size));
    this.renderer.draw({ instances, lines: Float32Array.from(lines), above, camera: this.camera, look: this.look, up: this.up, size: this.data.scene.size, smooth,
      ground: shown.ground ? { height: this.floor, cell } : null });
  }

  // Move the camera along if the mechanism is about to leave the picture.
  keepInView(poses) {
    const { scene, camera, canvas } = this, drawn = [...new Set(scene.pieces.map((piece) => piece.body))].filter(Boolean);
    const reach = SEEN * camera.distance * Math.min(1, (canvas.clientWidth - this.covered()) / canvas.clientHeight);
    const middle = drawn.reduce((sum, body) => V.add(sum, V.times(1 / drawn.length, scene.pose(poses, body).p)), [0, 0, 0]);
    const away = V.sub(middle, camera.target), length = V.length(away);
    if (!this.away) this.away = length;
    // Follow only motions of the mechanism, so that a user can look elsewhere.
    if (length > reach && length > this.away) camera.target = V.add(camera.target, V.times(1 - Math.max(reach, this.away) / length, away));
    this.away = V.length(V.sub(middle, camera.target));
  }

  // Time spans that include the current time.
  acting() { return this.runs[0].active.filter((band) => band.spans.some(([a, b]) => this.cursor >= a && this.cursor <= b)); }

  // Highlighted bodies: bodies of active constraints and of the explained term, and the body that the mouse pulls.
  lit() {
    const found = new Set();
    if (this.mode === "run") for (const band of this.acting()) band.bodies.forEach((body) => found.add(body));
    if (this.motion.pull) found.add(this.motion.pull.body);
    if (this.explained) this.explained.bodies.forEach((body) => found.add(body));
    if (this.mouse && this.mouse.grip) found.add(this.data.hand.handle.body);
    return found;
  }

  drawTraces(lines) {
    const colour = rgb(this.look === "dark" ? "#f5c26b" : "#b36b00");
    const strip = (points, closed) => points.forEach((p, i) => { if (i && closed(i)) lines.push(...points[i - 1], ...p, ...colour, 0.9, 2); });
    if (this.mode !== "run") { for (const trail of this.trails) strip(trail.points, () => true); return; }
    for (const trail of this.trails) {
      if (!trail.points.length) trail.points = Array.from(this.runs[0].time, (t) => this.scene.place(this.posesAt(this.runs[0], t), trail.body, trail.at));
      const { time } = this.runs[0], sign = Math.sign(time[time.length - 1] - time[0] || 1);
      strip(trail.points, (i) => (this.cursor - time[i]) * sign >= 0);
    }
  }

  // Current start, force and torque of each arrow.
  actingNow(poses) {
    if (this.mode === "live") return this.motion.acting(this.data.exerted).map((a) => ({ ...a, from: V.add(this.scene.place(poses, a.body, a.at), a.arm) }));
    if (this.mode === "stream") return (this.acted || []).filter((a) => Number.isFinite(a.from[0]));
    if (this.mode !== "run") return [];
    const run = this.runs[0], { low, high, share } = this.stateAt(run, this.cursor);
    const between = (list) => (list ? [0, 1, 2].map((i) => (1 - share) * list[3 * low + i] + share * list[3 * high + i]) : [0, 0, 0]);
    return run.arrows.map((a) => ({ name: a.name, from: V.add(this.scene.place(poses, a.body, a.at), between(a.arm)), force: between(a.force), torque: between(a.torque) }));
  }

  // Metres per newton or newton metre. A live page or stream scales by the largest value so far.
  lengthOf(word, vector) {
    const length = V.length(vector), whole = (word === "force" ? 1 / 2 : 1 / 3) * this.data.scene.size;
    if (this.mode !== "run" && length && !(length * this.scales[word] <= whole && this.scales[word])) this.scales[word] = whole / length;
    return this.scales[word] * this.stretched[word];
  }

  arrowsNow(poses) {
    const size = this.data.scene.size, ROUNDING = 1e-9;
    return this.actingNow(poses).flatMap(({ name, from, force, torque }) => {
      const colour = rgb(PALETTE[(this.data.arrows.indexOf(name) + 3) % PALETTE.length]), found = [];
      if (V.length(force) * size > ROUNDING * V.length(torque)) found.push(["force", force, 1]);
      if (V.length(torque) > ROUNDING * size * V.length(force)) found.push(["torque", torque, 2]);
      return found.map(([word, vector, heads]) => ({ from, to: V.add(from, V.times(this.lengthOf(word, vector), vector)), colour, heads }));
    });
  }

  pullArrow(poses) {
    const pull = this.motion.pull;
    return pull ? [{ from: this.scene.place(poses, pull.body, pull.at), to: pull.target, colour: rgb("#2fb36f") }] : [];
  }

  toggle(playing = !this.playing) {
    this.playing = playing;
    if (!this.controls.play) return;
    this.controls.play.textContent = playing ? "❚❚" : "▶";
    this.controls.play.setAttribute("aria-label", playing ? "pause" : "play");
  }

  seek(t) {
    const { time } = this.runs[0], [low, high] = [time[0], time[time.length - 1]].sort((a, b) => a - b);
    this.cursor = Math.max(low, Math.min(high, t));
  }

  reset() { if (this.mode !== "stream") this.start(); this.aim(); if (this.mode === "run") this.seek(this.runs[0].time[0]); }

  // Add listeners for mouse, touch and keys.
  listen() {
    const canvas = this.canvas, fingers = new Map();
    const place = (e) => { const box = canvas.getBoundingClientRect(); return [2 * (e.clientX - box.left) / box.width - 1, 1 - 2 * (e.clientY - box.top) / box.height, box.width / box.height]; };
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      fingers.set(e.pointerId, [e.clientX, e.clientY]);
      if (fingers.size === 1 && e.button === 0 && !e.shiftKey) this.grab(...place(e));
    });
    canvas.addEventListener("pointermove", (e) => {
      const before = fingers.get(e.pointerId);
      if (!before) return;
      const [dx, dy] = [e.clientX - before[0], e.clientY - before[1]], others = [...fingers].filter(([id]) => id !== e.pointerId);
      if (this.motion.pull) this.drag(...place(e));
      else if (this.mouse && this.mouse.grip) this.dragHand(...place(e));
      else if (others.length) {
        const other = others[0][1], span = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        this.camera.zoom(span(before) / Math.max(1, span([e.clientX, e.clientY])));
        this.camera.shift(dx / 2, dy / 2, canvas.clientHeight);
      } else if (e.buttons & 6 || e.shiftKey) this.camera.shift(dx, dy, canvas.clientHeight);
      else this.camera.turn(dx, dy);
      fingers.set(e.pointerId, [e.clientX, e.clientY]);
    });
    const up = (e) => { fingers.delete(e.pointerId); this.release(); };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.camera.zoom(Math.exp(0.0012 * e.deltaY)); }, { passive: false });
    window.addEventListener("keydown", (e) => this.key(e));
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || ["INPUT", "SELECT", "TEXTAREA"].includes(e.target.tagName) && e.key !== "Escape") return;
    const step = (direction) => { if (this.mode === "run") { this.toggle(false); this.seek(this.cursor + direction * (e.shiftKey ? 0.1 : 1 / 60) * Math.max(1, this.speed)); } };
    const times = (k) => { const i = SPEEDS.indexOf(this.speed) + k; if (SPEEDS[i]) { this.speed = SPEEDS[i]; this.controls.speed.value = this.speed; } };
    const actions = {
      " ": () => this.mode !== "model" && this.toggle(), ArrowLeft: () => step(-1), ArrowRight: () => step(1), "+": () => times(1), "=": () => times(1), "-": () => times(-1),
      Home: () => this.mode === "run" && this.seek(-Infinity), End: () => this.mode === "run" && this.seek(Infinity),
      r: () => this.reset(), l: () => this.setLook(this.look === "dark" ? "light" : "dark"), f: () => this.nextFollowed(),
      t: () => this.switch("traces"), x: () => this.switch("frames"), g: () => this.switch("ghosts"), a: () => this.switch("arrows"),
      p: () => document.getElementById("panel").classList.toggle("open"),
    };
    const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (action) { e.preventDefault(); action(); }
  }

  switch(word) {
    this.shown[word] = !this.shown[word];
    if (this.controls[word]) this.controls[word].checked = this.shown[word];
  }

  nextFollowed() {
    this.shown.follow = (this.shown.follow + 1) % this.data.scene.bodies;
    this.controls.follow.value = this.shown.follow;
  }

  // Attach a spring to the body under the pointer if the page integrates; otherwise the camera turns.
  grab(px, py, aspect) {
    if (this.mouse) this.grasp(px, py, aspect);
    if (this.mode !== "live") return;
    const found = this.scene.hit(this.posesNow(), this.camera.ray(px, py, aspect));
    if (!found || !found.body) return;
    this.motion.pull = { body: found.body, at: found.at, target: found.point, stiffness: this.data.pull.stiffness, damping: this.data.pull.damping };
    this.depth = V.dot(V.sub(found.point, this.camera.eye()), V.times(-1, this.camera.direction()));
    if (!this.playing) this.toggle(true);
  }

  drag(px, py, aspect) {
    const { origin, along } = this.camera.ray(px, py, aspect);
    this.motion.pull.target = V.add(origin, V.times(this.depth / -V.dot(along, this.camera.direction()), along));
  }

  release() {
    if (this.mouse && this.mouse.grip) { this.mouse.grip = null; this.sayHand(); }
    if (!this.motion.pull) return;
    this.motion.pull = null;
    this.energyAtStart = this.energy();
  }
}
