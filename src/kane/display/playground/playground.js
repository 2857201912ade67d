"use strict";
// The page: an editor, a worker with Python, and a frame that draws and simulates the model.

const LIMIT = 5000;  // milliseconds that a model may take, from the request to its last answer
const PAUSE = 400;  // milliseconds without typing after which the model is derived again
const SITE = new URL(".", location.href).href;
const place = (id) => document.getElementById(id);
const editor = place("editor"), frame = place("frame");

let worker = null, ready = false, limit = 0, pause = 0;
let waiting = false;  // whether a text waits for the worker
let busy = false;  // whether the worker derives a text
let shown = null;  // page that waits for its frame
let models = {};

function say(text, problem = false) {
  place("status").textContent = text;
  place("status").classList.toggle("problem", problem);
}

// A worker from a blob has the page's security policy: Python can request nothing but files of this site.
async function start() {
  ready = busy = false;
  try {
    const source = await (await fetch("worker.js")).text();
    const blob = new Blob([`const SITE = ${JSON.stringify(SITE)};\n${source}`], { type: "text/javascript" });
    const address = URL.createObjectURL(blob);
    const own = worker = new Worker(address);
    own.onmessage = ({ data }) => own === worker && take(data);
    own.onerror = (error) => own === worker && fail(error.message || "the browser blocks workers");
  } catch (error) {
    fail(error.message);
  }
}

function fail(text) {
  worker = null;
  say(`Python cannot start in this browser: ${text}. Install kane to derive this model.`, true);
}

function derive() {
  clearTimeout(pause);
  if (!worker) return;
  waiting = true;
  if (ready && !busy) send();
}

function send() {
  waiting = false;
  busy = true;
  say("Deriving.");
  limit = setTimeout(() => {
    stop();
    say(`The model took longer than ${LIMIT / 1000} s and was stopped. Edit it; Python starts anew.`, true);
  }, LIMIT);
  worker.postMessage({ text: editor.value });
}

// Python cannot be interrupted from outside: its worker ends, and another one loads.
function stop() {
  worker.terminate();
  start();
}

function take(data) {
  if (data.kind === "ready") {
    ready = true;
    if (waiting) send();
  } else if (data.kind === "failed") fail(data.text);
  else if (data.kind === "end") {
    clearTimeout(limit);
    busy = false;
    if (waiting) send();
  } else show[data.kind](data);
}

const show = {
  equations({ title, text }) {
    place("equations").textContent = text;
    say(`${title}: derived.`);
  },
  counts({ rows }) {
    const made = rows.map((row, k) => {
      const line = document.createElement("tr");
      line.append(...row.map((value) => Object.assign(document.createElement(k ? "td" : "th"), { textContent: typeof value === "number" ? value.toLocaleString("en") : value.replaceAll("_", " ") })));
      return line;
    });
    place("counts").replaceChildren(...made);
  },
  page({ note, page, source }) {
    place("note").textContent = note;
    shown = { page, source };
    frame.src = "frame.html";  // an empty page, which asks for its content
  },
  problem({ text, line }) {
    say(text, true);
    if (line) mark(line);
  },
};

addEventListener("message", ({ data, source }) => {
  if (source === frame.contentWindow && data === "ready" && shown) source.postMessage(shown, "*");
});

// Select the line with a problem, without taking the keyboard from another element.
function mark(line) {
  const lines = editor.value.split("\n"), first = lines.slice(0, line - 1).join("\n").length + (line > 1);
  editor.setSelectionRange(first, first + (lines[line - 1] || "").length);
}

// The link carries the text after #, which browsers send to no server: compressed, in URL-safe base64.
async function packed(text) {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(code) {
  const bytes = Uint8Array.from(atob(code.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Response(stream).text();
}

async function copyLink() {
  history.replaceState(null, "", `#${await packed(editor.value)}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link with this model is copied.");
  } catch {
    say("The address of this page now carries the model: copy it.");
  }
}

async function open() {
  editor.value = Object.values(models)[0];
  if (location.hash.length > 1) {
    try {
      editor.value = await unpacked(location.hash.slice(1));
    } catch {
      return say("The link is incomplete, so that its model cannot be read. This is an example: press Derive.", true);
    }
  }
  derive();
}

editor.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(derive, PAUSE);
});
editor.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) derive();
});
place("run").addEventListener("click", derive);
place("link").addEventListener("click", copyLink);
place("examples").addEventListener("change", ({ target }) => {
  editor.value = models[target.value];
  history.replaceState(null, "", SITE);
  derive();
});
addEventListener("hashchange", open);

(async () => {
  const loading = start();
  models = await (await fetch("models.json")).json();
  place("examples").append(...Object.keys(models).map((name) => new Option(name, name)));
  await loading;
  open();
})();
