// Python in a worker. It receives { text } and posts the answers of kane.display.playground.answer, then { kind: "end" }.
// playground.js prepends SITE, the address of the folder, because a worker from a blob has no address of its own.

async function load() {
  importScripts(`${SITE}pyodide/pyodide.js`);
  const source = fetch(`${SITE}kane.zip`).then((answer) => {
    if (!answer.ok) throw new Error(`kane.zip: ${answer.status} ${answer.statusText}`);
    return answer.arrayBuffer();
  });
  const python = await loadPyodide({ indexURL: `${SITE}pyodide/` });
  await python.loadPackage("numpy", { messageCallback: () => {} });
  python.unpackArchive(await source, "zip", { extractDir: "/kane" });
  python.runPython("import sys; sys.path.insert(0, '/kane'); from kane.display.playground.answer import answers");
  return python.globals.get("answers");
}

const loaded = load();
loaded.then(() => postMessage({ kind: "ready" }), (error) => postMessage({ kind: "failed", text: error.message }));

onmessage = async ({ data }) => {
  const answers = await loaded;
  for (const answer of answers(data.text)) postMessage(JSON.parse(answer));
  postMessage({ kind: "end" });
};
