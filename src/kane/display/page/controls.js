// Controls of the page: the panel, the bar, the plots.

Object.assign(Page.prototype, {
  build() {
    this.controls = {};
    const { data } = this;
    this.told = element("p");
    document.body.append(element("header", { id: "title", className: "card" }, element("h1", { textContent: data.title }), this.told));
    const panel = this.panel = element("aside", { id: "panel", className: "card" });
    document.body.append(element("button", { id: "menu", className: "card", textContent: "☰", ariaLabel: "controls",
      onclick: () => panel.classList.toggle("open") }), panel);
    for (const [title, kind, list] of this.sliderGroups()) {
      if (list.length) panel.append(element("details", { open: list.length < 9 }, element("summary", { textContent: title }), ...list.map((given) => this.slider(kind, given))));
    }
    this.plotBox = element("div");
    if (data.equations.length) panel.append(this.equationList());
    panel.append(element("details", { open: this.plotted.length > 0 }, element("summary", { textContent: "Plots" }), this.plotMenu(), this.plotBox));
    panel.append(element("details", { open: window.innerHeight > 700 && !["live", "model"].includes(this.mode) }, element("summary", { textContent: "View" }), ...this.viewControls()));
    panel.append(this.help());
    if (this.mode !== "model") this.bar();
    this.showPlots();
  },

  sliderGroups() {
    const of = (kind) => this.data.sliders.filter((s) => s.kind === kind);
    return [["Coordinates", "coordinate", of("coordinate")], ["Inputs", "input", of("input")], ["Parameters", "parameter", of("parameter")]];
  },

  slider(kind, { name, place, low, high, value, unit }) {
    const shown = element("output", { textContent: shortly(value) });
    const range = element("input", { type: "range", min: low, max: high, step: "any", value, ariaLabel: name });
    range.addEventListener("input", () => {
      const x = Number(range.value);
      shown.textContent = shortly(x);
      this.set(kind, place, x, name);
    });
    range.addEventListener("dblclick", () => { range.value = value; range.dispatchEvent(new Event("input")); });
    (this.ranges ||= []).push({ kind, place, range, shown });
    return element("label", {}, element("span", { textContent: unit ? `${name} [${unit}]` : name }), shown, range);
  },

  // Apply a moved slider.
  set(kind, place, x, name) {
    const { motion } = this;
    if (kind === "input") {
      motion.inputs[place] = x;
      if (this.socket) this.socket.send(JSON.stringify({ input: name, value: x }));
    } else if (kind === "parameter") {
      motion.parameters[place] = x;
      motion.reload();
      motion.settle();
      this.energyAtStart = this.energy();
    } else {
      const before = motion.x.slice();
      motion.x[place] = x;
      motion.settle([place]);
      if (motion.residual > 1e-6) { motion.x = before; motion.settle(); }  // the loop cannot close at this coordinate
      for (const { kind: other, place: i, range, shown } of this.ranges) {
        if (other === "coordinate" && i !== place) { range.value = motion.x[i]; shown.textContent = shortly(motion.x[i]); }
      }
    }
  },

  check(word, text) {
    const box = this.controls[word] = element("input", { type: "checkbox", checked: this.shown[word], onchange: () => { this.shown[word] = box.checked; } });
    return element("label", { className: "line" }, box, element("span", { textContent: text }));
  },

  viewControls() {
    const { data } = this, bodies = data.scene.frames.slice(1, data.scene.bodies);
    const follow = this.controls.follow = element("select", { ariaLabel: "follow", onchange: () => { this.shown.follow = Number(follow.value); } },
      element("option", { value: 0, textContent: "nothing" }), ...bodies.map((name, i) => element("option", { value: i + 1, textContent: name })));
    const list = [element("label", {}, element("span", { textContent: "follow" }), follow), this.check("frames", "frames of bodies")];
    if (this.trails.length) list.push(this.check("traces", `traces of ${this.trails.map((t) => t.name).join(", ")}`));
    if (this.runs.length > 1) list.push(this.check("ghosts", `ghosts: ${this.runs.slice(1).map((r) => r.name).join(", ")}`));
    if (data.arrows.length) {
      list.push(this.check("arrows", `forces: ${data.arrows.join(", ")}`));
      for (const word of ["force", "torque"]) if (data.scales[word] || this.mode === "live" || data.stream && word === "force") list.push(this.scaleControl(word));
    }
    list.push(this.check("ground", "ground"));
    list.push(element("label", {}, element("span", { textContent: "look" }), element("button", { textContent: "dark / light", onclick: () => this.setLook(this.look === "dark" ? "light" : "dark") })));
    return list;
  },

  // Slider for the length of arrows, a factor from 0.001 to 1000.
  scaleControl(word) {
    const shown = this.controls[`${word}Scale`] = element("output");
    const scale = element("input", { type: "range", min: -3, max: 3, step: "any", value: 0, ariaLabel: `scale of ${word}s`,
      oninput: () => { this.stretched[word] = 10 ** Number(scale.value); } });
    return element("label", {}, element("span", { textContent: `${word}s: 1 m =` }), shown, scale);
  },

  help() {
    const keys = [["space", "play, pause"], ["← →", "a step back, forth"], ["+ −", "faster, slower"], ["R", "begin again"], ["F", "follow the next body"],
      ["T X A G", "traces, frames, forces, ghosts"], ["L", "dark, light"], ["drag", this.mode === "live" || this.mouse ? "a body: pull it; elsewhere: turn" : "turn"], ["shift drag", "shift"], ["wheel", "nearer, farther"]];
    const list = keys.flatMap(([key, text]) => [element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: text })]);
    return element("details", { id: "help" }, element("summary", { textContent: "Keys" }), element("dl", {}, ...list));
  },

  bar() {
    const play = this.controls.play = element("button", { onclick: () => this.toggle() });
    const speed = this.controls.speed = element("select", { ariaLabel: "speed", onchange: () => { this.speed = Number(speed.value); } },
      ...SPEEDS.map((s) => element("option", { value: s, textContent: `× ${s}`, selected: s === 1 })));
    const time = this.controls.time = element("span", { className: "time" });
    const bar = element("footer", { id: "bar", className: "card" });
    if (this.mode !== "stream") bar.append(play, element("button", { textContent: "↺", ariaLabel: "begin again", onclick: () => this.reset() }));
    if (this.mode === "run") bar.append(this.timeline());
    else bar.append(element("span", { className: "track" }));
    bar.append(time);
    if (this.mode !== "stream") bar.append(speed);
    if (this.mode === "run") {
      const loop = element("input", { type: "checkbox", checked: true, onchange: () => { this.loop = loop.checked; } });
      bar.append(element("label", {}, loop, " loop"));
    }
    document.body.append(bar);
    this.toggle(this.playing);
  },

  timeline() {
    const run = this.runs[0], first = run.time[0], end = run.time[run.time.length - 1];
    const range = this.controls.range = element("input", { type: "range", min: Math.min(first, end), max: Math.max(first, end), step: "any", value: first, ariaLabel: "time" });
    range.addEventListener("input", () => this.seek(Number(range.value)));
    const track = element("span", { className: "track" }, range);
    for (const event of run.events) {
      const at = (event.time - Math.min(first, end)) / (Math.abs(end - first) || 1);
      track.append(element("button", { className: "tick", title: `${event.name} at ${shortly(event.time)} s${event.cause ? `: ${event.cause}` : ""}`,
        ariaLabel: `event ${event.name}`, style: `left: calc(8px + ${at} * (100% - 16px))`, onclick: () => this.seek(event.time) }));
    }
    return track;
  },

  // The last event that the cursor has passed less than half a second of wall time ago.
  lastEvent() {
    const run = this.runs[0], sign = Math.sign(run.time[run.time.length - 1] - run.time[0] || 1);
    const past = run.events.filter(({ time }) => { const ago = (this.cursor - time) * sign; return ago >= 0 && ago < 0.5 * this.speed; });
    return past[past.length - 1];
  },

  // Update the line under the title, and the clock.
  tell() {
    const { motion } = this, now = this.mode === "run" ? this.cursor : motion.time;
    const clock = `t = ${now.toFixed(3)} s`;
    if (this.controls.time && this.controls.time.textContent !== clock) this.controls.time.textContent = clock;
    if (this.controls.range) this.controls.range.value = this.cursor;
    for (const [word, unit] of [["force", "N"], ["torque", "N m"]]) {
      const told = this.controls[`${word}Scale`], scale = this.scales[word] * this.stretched[word], text = scale ? `${shortly(1 / scale)} ${unit}` : "";
      if (told && told.textContent !== text) told.textContent = text;
    }
    let words = this.data.subtitle;
    const acting = this.mode === "run" ? this.acting().map((band) => band.name) : [];
    if (acting.length) words = `active: ${acting.join(", ")}`;
    const event = this.mode === "run" && this.lastEvent();
    if (event) words = `${shortly(event.time)} s: ${event.name}${event.cause ? ` ${event.cause}` : ""}${acting.length ? ` · ${words}` : ""}`;
    if (this.mode === "live") {
      const energy = this.energy(), parts = [];
      if (Number.isFinite(energy)) parts.push(`E = ${shortly(energy)} J (${energy >= this.energyAtStart ? "+" : "−"}${Math.abs(energy - this.energyAtStart).toExponential(1)})`);
      if (this.data.motion.own.closing.length || motion.m) parts.push(`constraints to ${motion.residual.toExponential(1)}`);
      if (this.pace && this.pace < 0.9 && this.playing) parts.push(`${(100 * this.pace).toFixed(0)} % of real time`);
      words = parts.join(" · ");
    } else if (this.word) words = this.word;
    else if (this.mode === "model" && this.data.motion.own.closing.length) words = `constraints to ${motion.residual.toExponential(1)}`;
    if (this.frames % 6 === 0 && this.told.textContent !== words) this.told.textContent = words;
    this.tellTerms(false);
    if (this.frames % 3 === 0 && this.stale) { this.stale = false; this.drawPlots(); }
  },

  plotMenu() {
    const names = this.mode === "run" ? Object.keys(this.runs[0].series) : [...this.data.motion.coordinates, ...this.data.motion.speeds].map((c) => c.name).concat(this.mode === "live" ? ["energy"] : this.data.stream ? this.data.stream.values : []);
    const menu = element("select", { ariaLabel: "add a plot", onchange: () => {
      if (menu.value && !this.plotted.includes(menu.value)) { this.plotted.push(menu.value); this.showPlots(); }
      menu.value = "";
    } }, element("option", { value: "", textContent: "add a plot…" }), ...names.map((name) => element("option", { value: name, textContent: name })));
    return menu;
  },

  showPlots() {
    this.plotBox.replaceChildren(...this.plotted.map((name) => element("canvas", { className: "plot", ariaLabel: `plot of ${name}`, title: "click: go there; double click: take it away",
      ondblclick: () => { this.plotted = this.plotted.filter((x) => x !== name); this.showPlots(); },
      onclick: (e) => {
        if (this.mode !== "run") return;
        const box = e.currentTarget.getBoundingClientRect(), { time } = this.runs[0];
        this.seek(time[0] + (time[time.length - 1] - time[0]) * (e.clientX - box.left) / box.width);
      } })));
    this.plots = this.plotted.map((name, i) => ({ name, canvas: this.plotBox.children[i] }));
    this.drawPlots();
  },

  drawPlots() {
    for (const { name, canvas } of this.plots || []) {
      if (!canvas.clientWidth) continue;
      const ratio = window.devicePixelRatio || 1, [w, h] = [canvas.clientWidth, canvas.clientHeight];
      if (canvas.width !== Math.round(w * ratio)) { canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio); }
      const pen = canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, w, h);
      const style = getComputedStyle(document.documentElement), word = (key) => style.getPropertyValue(key);
      const lists = this.mode === "run" ? this.runs.map((run) => ({ time: run.time, values: run.series[name] })) : [{ time: this.record.time, values: this.record.values[name] }];
      const drawn = lists.filter((l) => l.values && l.values.length > 1);
      pen.font = "11px system-ui, sans-serif";
      pen.fillStyle = word("--soft");
      if (!drawn.length) { pen.fillText(name, 2, 11); continue; }
      let low = Infinity, high = -Infinity;
      for (const { values } of drawn) for (const x of values) { if (x < low) low = x; if (x > high) high = x; }
      if (!(high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)))) { const pad = Math.max(1e-9, Math.abs(high)); low -= pad; high += pad; }
      const t0 = drawn[0].time[0], t1 = drawn[0].time[drawn[0].time.length - 1];
      const at = (t) => w * (t - t0) / (t1 - t0 || 1), of = (x) => h - 4 - (h - 22) * (x - low) / (high - low);
      drawn.slice().reverse().forEach(({ time, values }, k) => {
        pen.strokeStyle = k === drawn.length - 1 ? word("--mark") : word("--line");
        pen.lineWidth = 1.5;
        pen.beginPath();
        const stride = Math.max(1, Math.floor(time.length / (2 * w)));
        for (let i = 0; i < time.length; i += stride) i ? pen.lineTo(at(time[i]), of(values[i])) : pen.moveTo(at(time[i]), of(values[i]));
        pen.stroke();
      });
      const { time, values } = drawn[0], now = this.mode === "run" ? this.cursor : time[time.length - 1];
      let i = 0;
      while (i < time.length - 1 && Math.abs(time[i + 1] - t0) <= Math.abs(now - t0)) i++;
      pen.strokeStyle = word("--soft");
      pen.lineWidth = 1;
      pen.beginPath(); pen.moveTo(at(now), 14); pen.lineTo(at(now), h); pen.stroke();
      pen.fillStyle = word("--mark");
      pen.beginPath(); pen.arc(at(time[i]), of(values[i]), 3, 0, 7); pen.fill();
      pen.fillStyle = word("--front");
      pen.fillText(`${name} = ${shortly(values[i])}${this.data.units[name] ? ` ${this.data.units[name]}` : ""}`, 2, 11);
      pen.fillStyle = word("--soft");
      pen.textAlign = "right";
      pen.fillText(`${shortly(low)} … ${shortly(high)}`, w - 2, 11);
      pen.textAlign = "left";
    }
  },
});
