// A small WebGL 2 renderer: instances of forms with one light and its shadow, lines with a width in pixels, the ground.

// 4 x 4 matrices in column order, as WebGL reads them.
const M4 = {
  times(a, b) {
    const out = new Float32Array(16);
    for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
      let x = 0;
      for (let k = 0; k < 4; k++) x += a[4 * k + r] * b[4 * c + k];
      out[4 * c + r] = x;
    }
    return out;
  },
  view(eye, target, up) {
    const z = V.unit(V.sub(eye, target)), x = V.unit(V.cross(up, z)), y = V.cross(z, x);
    return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0,
      -V.dot(x, eye), -V.dot(y, eye), -V.dot(z, eye), 1]);
  },
  // The view axis appears `aside` half widths to the left of the centre.
  perspective(angle, aspect, near, far, aside) {
    const f = 1 / Math.tan(angle / 2), d = 1 / (near - far);
    return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, aside, 0, (near + far) * d, -1, 0, 0, 2 * near * far * d, 0]);
  },
  box(r, near, far) {
    const d = 1 / (near - far);
    return new Float32Array([1 / r, 0, 0, 0, 0, 1 / r, 0, 0, 0, 0, 2 * d, 0, 0, 0, (near + far) * d, 1]);
  },
};

const FORM_VERTEX = `#version 300 es
layout(location=0) in vec3 point; layout(location=1) in vec3 normal;
layout(location=2) in vec4 row0; layout(location=3) in vec4 row1; layout(location=4) in vec4 row2;
layout(location=5) in vec4 tint;
uniform mat4 view, light;
out vec3 place, facing; out vec4 shadowed, colour;
void main() {
  vec4 p = vec4(point, 1.0);
  place = vec3(dot(row0, p), dot(row1, p), dot(row2, p));
  mat3 turn = transpose(mat3(row0.xyz, row1.xyz, row2.xyz));
  // Cofactors transform normals correctly even for flat forms.
  mat3 cofactor = mat3(cross(turn[1], turn[2]), cross(turn[2], turn[0]), cross(turn[0], turn[1]));
  facing = dot(normal, normal) > 0.0 ? cofactor * normal : vec3(0.0);
  shadowed = light * vec4(place, 1.0);
  colour = tint;
  gl_Position = view * vec4(place, 1.0);
}`;

const SHADED = `
uniform highp sampler2DShadow shadow;
uniform vec3 sun, eye, sky, soil; uniform float dim;
float lit(vec4 at, float slope) {
  vec3 p = at.xyz / at.w * 0.5 + 0.5;
  if (p.x < 0.0 || p.x > 1.0 || p.y < 0.0 || p.y > 1.0 || p.z > 1.0) return 1.0;
  float total = 0.0, depth = p.z - 0.0015 - 0.004 * slope;
  for (int i = 0; i < 4; i++) total += texture(shadow, vec3(p.xy + (vec2(i & 1, i >> 1) - 0.5) / 900.0, depth));
  return total / 4.0;
}`;

const FORM_FRAGMENT = `#version 300 es
precision highp float;
in vec3 place, facing; in vec4 shadowed, colour;
${SHADED}
uniform vec3 up;
out vec4 result;
void main() {
  vec3 n = dot(facing, facing) > 0.0 ? normalize(facing) : normalize(cross(dFdx(place), dFdy(place)));
  vec3 v = normalize(eye - place);
  if (dot(n, v) < 0.0) n = -n;
  float cosine = dot(n, sun), seen = cosine > 0.0 ? lit(shadowed, 1.0 - cosine) : 0.0, open = cosine * seen;
  vec3 around = mix(soil, sky, 0.5 + 0.5 * dot(n, up));
  float shine = pow(max(dot(n, normalize(sun + v)), 0.0), 48.0) * 0.25 * seen;
  float rim = pow(1.0 - max(dot(n, v), 0.0), 3.0) * 0.12;
  result = vec4((colour.rgb * (around + 0.72 * open) + shine + rim * sky) * dim, 1.0) * colour.a;
}`;

const GROUND_VERTEX = `#version 300 es
layout(location=0) in vec3 point;
uniform mat4 view, light; uniform vec3 centre, along, across;
out vec3 place; out vec2 flatPlace; out vec4 shadowed;
void main() {
  place = centre + along * point.x + across * point.y;
  flatPlace = point.xy;
  shadowed = light * vec4(place, 1.0);
  gl_Position = view * vec4(place, 1.0);
}`;

const GROUND_FRAGMENT = `#version 300 es
precision highp float;
in vec3 place; in vec2 flatPlace; in vec4 shadowed;
${SHADED}
uniform vec3 tone; uniform float cells; uniform vec2 offset;
out vec4 result;
float grid(vec2 p) {
  vec2 width = fwidth(p), far = abs(fract(p - 0.5) - 0.5) / width;
  return (1.0 - min(min(far.x, far.y), 1.0)) * (1.0 - min(max(width.x, width.y), 1.0));
}
void main() {
  vec2 p = flatPlace * cells + offset;
  float fade = smoothstep(1.0, 0.25, length(flatPlace));
  if (fade == 0.0) discard;
  float ink = 0.10 * grid(p) + 0.12 * grid(p / 5.0);
  float shade = 0.32 * (1.0 - lit(shadowed, 0.0));
  result = vec4(tone * ink * fade, (ink + shade) * fade);
}`;

const LINE_VERTEX = `#version 300 es
layout(location=0) in vec3 a; layout(location=1) in vec3 b; layout(location=2) in vec4 tint; layout(location=3) in float width;
uniform mat4 view; uniform vec2 pixels;
out vec4 colour;
void main() {
  vec4 p = view * vec4(a, 1.0), q = view * vec4(b, 1.0);
  p.w = max(p.w, 1e-4); q.w = max(q.w, 1e-4);
  vec2 along = (q.xy / q.w - p.xy / p.w) * pixels;
  along = length(along) > 0.0 ? normalize(along) : vec2(1.0, 0.0);
  vec2 corner = vec2(gl_VertexID & 1, (gl_VertexID >> 1) & 1) * 2.0 - 1.0;
  vec4 at = corner.x < 0.0 ? p : q;
  vec2 away = (vec2(-along.y, along.x) * corner.y + along * corner.x * 0.5) * width;
  gl_Position = at + vec4(away / pixels * at.w, -0.0002 * at.w, 0.0);
  colour = tint;
}`;

const LINE_FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour; out vec4 result;
void main() { result = vec4(colour.rgb * colour.a, colour.a); }`;

const LOOKS = {
  light: { clear: [0.965, 0.97, 0.98], sky: [0.62, 0.64, 0.68], soil: [0.34, 0.33, 0.33], tone: [0.25, 0.3, 0.4], ink: [0.2, 0.24, 0.3], dim: 1 },
  dark: { clear: [0.075, 0.085, 0.105], sky: [0.5, 0.54, 0.62], soil: [0.18, 0.18, 0.2], tone: [0.6, 0.7, 0.9], ink: [0.75, 0.8, 0.88], dim: 0.92 },
};

const FIELD = 0.62;  // vertical field of view [rad]

class Renderer {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = this.gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("This page needs WebGL 2, which this browser does not offer.");
    this.programs = {
      form: this.program(FORM_VERTEX, FORM_FRAGMENT),
      shade: this.program(FORM_VERTEX, "#version 300 es\nprecision mediump float; void main() {}"),
      ground: this.program(GROUND_VERTEX, GROUND_FRAGMENT),
      line: this.program(LINE_VERTEX, LINE_FRAGMENT),
    };
    this.forms = {};
    this.segments = gl.createVertexArray();
    this.segmentBuffer = gl.createBuffer();
    gl.bindVertexArray(this.segments);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.segmentBuffer);
    [[0, 3, 0], [1, 3, 12], [2, 4, 24], [3, 1, 40]].forEach(([place, size, at]) => {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 44, at);
      gl.vertexAttribDivisor(place, 1);
    });
    this.target = gl.createFramebuffer();
    this.shadowMap(1024);
    this.smooth = gl.createFramebuffer();
    this.smoothBuffers = [gl.createRenderbuffer(), gl.createRenderbuffer()];
    this.samples = Math.min(4, gl.getParameter(gl.MAX_SAMPLES));
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const at = {};
    for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(made, i);
      at[name] = gl.getUniformLocation(made, name);
    }
    return { made, at };
  }

  // Set up the shadow map of the light, with this number of pixels per side.
  shadowMap(side) {
    const gl = this.gl;
    gl.deleteTexture(this.depth || null);
    this.side = side;
    this.depth = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.depth);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.DEPTH_COMPONENT24, side, side, 0, gl.DEPTH_COMPONENT, gl.UNSIGNED_INT, null);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.depth, 0);
    gl.drawBuffers([gl.NONE]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  // Set up a multisampled target of the canvas's size, for smooth edges.
  smoothTarget() {
    const gl = this.gl, { width, height } = this.canvas, size = [width, height, this.samples].join();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.smooth);
    if (size === this.smoothSize) return;
    this.smoothSize = size;
    [[gl.RGB8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT]].forEach(([kind, place], k) => {
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.smoothBuffers[k]);
      gl.renderbufferStorageMultisample(gl.RENDERBUFFER, this.samples, kind, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, this.smoothBuffers[k]);
    });
  }

  // Add a form: coordinates of corners and normals, and corner indices of faces.
  addForm(name, { points, normals, faces }) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    [points, normals].forEach((values, place) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    const instances = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, instances);
    for (let k = 0; k < 4; k++) {
      gl.enableVertexAttribArray(2 + k);
      gl.vertexAttribPointer(2 + k, 4, gl.FLOAT, false, 64, 16 * k);
      gl.vertexAttribDivisor(2 + k, 1);
    }
    gl.bindVertexArray(null);
    this.forms[name] = { array, instances, count: faces.length, points, faces };
  }

  // Draw a frame. `instances` by form have 16 numbers each (rows of R size | p, then colour); `lines` have 11 numbers each
  // (ends, colour, width); `above` has both for objects drawn on top; `smooth` selects smooth edges.
  draw({ instances, lines, above, camera, look, ground, up, size, smooth }) {
    const gl = this.gl, { width, height } = this.canvas, style = LOOKS[look];
    for (const [name, values] of [...Object.entries(instances), ...Object.entries(above.instances)]) {
      gl.bindBuffer(gl.ARRAY_BUFFER, this.forms[name].instances);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
    }
    const reach = 1.6 * Math.max(size, 0.35 * camera.distance), e = camera.basis;
    const sun = V.unit(V.add(V.add(V.times(1.0, e.up), V.times(0.45, e.first)), V.times(-0.6, e.second)));
    const light = M4.times(M4.box(reach, 0.05 * reach, 8 * reach), M4.view(V.add(camera.target, V.times(4 * reach, sun)), camera.target, e.first));
    const eye = camera.eye(), near = Math.max(camera.distance - 12 * size, 0.02 * camera.distance);
    const view = M4.times(M4.perspective(FIELD, width / height, near, camera.distance + 30 * size, camera.aside), M4.view(eye, camera.target, e.up));
    gl.enable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
    gl.viewport(0, 0, this.side, this.side);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.drawForms("shade", instances, { view: light, light });
    if (smooth) this.smoothTarget();
    else gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.clearColor(...style.clear, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.depth);
    const common = { view, light, sun, eye, sky: style.sky, soil: style.soil, dim: style.dim, up, shadow: 0 };
    this.drawForms("form", instances, common);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    if (ground) this.drawGround(common, style, camera, ground);
    gl.depthMask(true);
    this.drawLines(lines, view);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.drawLines(above.lines, view);
    gl.disable(gl.BLEND);
    this.drawForms("form", above.instances, common);
    if (!smooth) return;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.smooth);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  use(name, values) {
    const gl = this.gl, { made, at } = this.programs[name];
    gl.useProgram(made);
    for (const [word, value] of Object.entries(values)) {
      const place = at[word];
      if (place === undefined) continue;
      if (word === "shadow") gl.uniform1i(place, value);
      else if (typeof value === "number") gl.uniform1f(place, value);
      else if (value.length === 16) gl.uniformMatrix4fv(place, false, value);
      else gl[`uniform${value.length}fv`](place, value);
    }
  }

  drawForms(program, instances, values) {
    const gl = this.gl;
    this.use(program, values);
    for (const [name, numbers] of Object.entries(instances)) {
      const form = this.forms[name];
      gl.bindVertexArray(form.array);
      gl.drawElementsInstanced(gl.TRIANGLES, form.count, gl.UNSIGNED_INT, 0, numbers.length / 16);
    }
  }

  drawGround(common, style, camera, { height, cell }) {
    const e = camera.basis, reach = 30 * cell;
    const flat = (a) => V.dot(camera.target, a);
    const step = (x) => 5 * cell * Math.round(x / (5 * cell));
    const [a, b] = [step(flat(e.first)), step(flat(e.second))];
    const centre = V.add(V.add(V.times(a, e.first), V.times(b, e.second)), V.times(height, e.up));
    this.use("ground", { ...common, centre, along: V.times(reach, e.first), across: V.times(reach, e.second),
      tone: style.tone, cells: reach / cell, offset: [0, 0] });
    const gl = this.gl, form = this.forms.square;
    gl.bindVertexArray(form.array);
    gl.drawElements(gl.TRIANGLES, form.count, gl.UNSIGNED_INT, 0);
  }

  drawLines(lines, view) {
    if (!lines.length) return;
    const gl = this.gl;
    this.use("line", { view, pixels: [this.canvas.width, this.canvas.height] });
    gl.bindVertexArray(this.segments);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.segmentBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, lines, gl.DYNAMIC_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, lines.length / 11);
  }
}

// Camera that orbits a target.
class Camera {
  constructor(up, target, distance) {
    const first = V.unit(V.cross(Math.abs(up[1]) > 0.9 ? [0, 0, 1] : [0, 1, 0], up));
    // Default direction: from the side and above. The page sets the front view for planar mechanisms.
    this.basis = { up, first: first.map((x) => (Math.abs(x) < 1e-12 ? 0 : x)), second: V.cross(up, first) };
    this.target = target;
    this.distance = distance;
    this.aside = 0;
    this.yaw = -1.05;
    this.pitch = 0.38;
  }

  direction() {
    const { up, first, second } = this.basis, c = Math.cos(this.pitch);
    return V.add(V.add(V.times(c * Math.cos(this.yaw), first), V.times(c * Math.sin(this.yaw), second)),
      V.times(Math.sin(this.pitch), up));
  }

  eye() { return V.add(this.target, V.times(this.distance, this.direction())); }

  axes() {
    const z = this.direction(), x = V.unit(V.cross(this.basis.up, z));
    return { x, y: V.cross(z, x), z };
  }

  turn(dx, dy) {
    this.yaw -= 0.006 * dx;
    this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + 0.006 * dy));
  }

  shift(dx, dy, height) {
    const { x, y } = this.axes(), scale = 2 * this.distance * Math.tan(FIELD / 2) / height;
    this.target = V.add(this.target, V.add(V.times(-dx * scale, x), V.times(dy * scale, y)));
  }

  zoom(factor) { this.distance = Math.max(1e-6, this.distance * factor); }

  // The ray through a point of the canvas, whose coordinates are -1 to 1.
  ray(px, py, aspect) {
    const { x, y, z } = this.axes(), t = Math.tan(FIELD / 2);
    return { origin: this.eye(), along: V.unit(V.add(V.add(V.times((px + this.aside) * t * aspect, x), V.times(py * t, y)), V.times(-1, z))) };
  }
}
