// The operator in pages of sessions: the proxy, its force, and the mouse as a device.

const GRASP = 40;  // largest distance from the handle at which the mouse takes hold [pixels]
const SAYS = 8;  // milliseconds between messages with the position of the mouse

Object.assign(Page.prototype, {
  // Read the numbers after the state in a stream: start, force and torque of arrows; scalar values; index of the status text.
  heard(numbers) {
    const { stream, arrows } = this.data;
    if (!stream) return;
    const three = (k) => [...numbers.subarray(k, k + 3)];
    this.acted = arrows.map((name, i) => ({ name, from: three(9 * i), force: three(9 * i + 3), torque: three(9 * i + 6) }));
    this.courses = stream.values.map((name, i) => [name, numbers[9 * arrows.length + i]]);
    this.word = stream.words[numbers[numbers.length - 1]];
  },

  // Draw the handle as a ball; while it is held, also the proxy as a ball, with a line between them.
  drawHand(poses, lines, above) {
    const { hand, scene } = this.data;
    if (!hand || !this.shown.arrows) return;
    const of = (name) => this.actingNow(poses).find((a) => a.name === name), held = of(hand.at), handle = of(hand.on);
    const colour = rgb("#2fb36f"), balls = [];
    const ball = (p, r, tint) => balls.push(r, 0, 0, p[0], 0, r, 0, p[1], 0, 0, r, p[2], ...tint, 1);
    ball(this.handle(poses), 0.012 * scene.size, rgb("#7a8594"));
    if (held && this.holds()) {
      ball(held.from, 0.025 * scene.size, colour);
      lines.push(...handle.from, ...held.from, ...colour, 0.9, 2);
    }
    above.instances.hand = Float32Array.from(balls);
  },

  handle(poses) { return this.scene.place(poses, this.data.hand.handle.body, this.data.hand.handle.at); },

  // Whether the operator holds the mechanism now.
  holds() {
    if (this.mode !== "run") return true;
    const { low } = this.stateAt(this.runs[0], this.cursor);
    return this.runs[0].series[this.data.hand.held][low] > 0.5;
  },

  // Use the mouse as a device: it sends its position while the page is visible.
  listenHand() {
    if (!this.data.hand || !this.data.hand.mouse) return;
    this.mouse = { at: [0, 0, 0], grip: null };
    setInterval(() => this.sayHand(), SAYS);
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.release(); });
  },

  sayHand() {
    const { socket, mouse } = this;
    if (socket && socket.readyState === WebSocket.OPEN && !document.hidden) socket.send(JSON.stringify({ hand: mouse.at, pressed: Boolean(mouse.grip) }));
  },

  // Intersection of a ray with the plane through the handle that faces the camera.
  faced({ origin, along }) {
    const z = this.camera.direction(), depth = V.dot(V.sub(this.handle(this.posesNow()), origin), z);
    return V.add(origin, V.times(depth / V.dot(along, z), along));
  },

  // Take hold when the button is pressed near the handle or on a body.
  grasp(px, py, aspect) {
    const ray = this.camera.ray(px, py, aspect), point = this.faced(ray), poses = this.posesNow();
    const pixel = 2 * Math.tan(FIELD / 2) * V.dot(V.sub(this.camera.eye(), point), this.camera.direction()) / this.canvas.clientHeight;
    const found = this.scene.hit(poses, ray);
    if (V.length(V.sub(point, this.handle(poses))) > GRASP * pixel && !(found && found.body)) return;
    this.mouse.grip = { point, at: this.mouse.at };
    this.sayHand();
  },

  dragHand(px, py, aspect) {
    const { grip } = this.mouse, way = V.sub(this.faced(this.camera.ray(px, py, aspect)), grip.point);
    this.mouse.at = V.add(grip.at, V.times(1 / this.data.hand.scale, way));
  },
});
