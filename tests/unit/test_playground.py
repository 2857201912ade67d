"""The playground: its answers without native code, its site, and its page in Chromium.

The listings of desktop and browser vouch for each other. Pyodide is not on any package index: a stand-in that posts the
same answers tests the page here, and Pyodide itself where KANE_PYODIDE names the folder of a distribution.
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from oracles.browser import Browser

import kane
from kane.display.playground.answer import answers, listing
from kane.display.playground.models import MODELS
from kane.display.playground.site import RUNTIME, write_playground

# Packages that Pyodide lacks, or that the playground does not load.
MISSING = (
    "llvmlite", "numba", "scipy", "xarray", "pandas", "h5py", "h5netcdf", "matplotlib", "PIL", "typer", "rich",
    "platformdirs", "sympy",
)  # fmt: skip
WITHOUT = f"""
import json, sys
sys.modules.update(dict.fromkeys({MISSING!r}))
sys.path.insert(0, sys.argv[1])
from kane.display.playground.answer import answers
from kane.display.playground.models import MODELS
assert sys.modules["kane"].__file__.startswith(sys.argv[1])
print(json.dumps({{name: list(answers(MODELS[name])) for name in sys.argv[2:]}}))
"""
QUICK = ("double pendulum", "ball on a floor", "four_bar", "stanford_arm")
# Takes the place of Pyodide: the answers of CPython, and a loop for texts that loop.
STAND_IN = """
const ANSWERS = %s;
self.loadPyodide = async () => ({
  loadPackage: async () => {}, unpackArchive: () => {}, runPython: () => {},
  globals: { get: () => (text) => {
    while (text.includes("while True"));
    if (!text.startsWith("http")) return ANSWERS[text] || ANSWERS[""];
    const request = new XMLHttpRequest();
    request.open("GET", text, false);
    try { request.send(); } catch (error) { return [JSON.stringify({ kind: "problem", text: "refused" })]; }
    return [JSON.stringify({ kind: "problem", text: `answered ${request.status}` })];
  } },
});
"""
OTHER = 'import kane\nmodel = kane.library.wrist()\n# "ä < b"\n'
COUNT_ENDED = """Worker.prototype.terminate = new Proxy(Worker.prototype.terminate, {
  apply: (end, worker) => (window.ended += 1, end.call(worker)) })"""
STATUS = "document.getElementById('status')?.textContent"


def said(text, tmp_path):
    return [json.loads(answer) for answer in answers(text, str(tmp_path / "model.py"))]


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """A folder like Pyodide's."""
    folder = tmp_path_factory.mktemp("pyodide")
    for name in (*RUNTIME, "numpy.whl"):
        (folder / name).write_text("")
    (folder / "pyodide-lock.json").write_text('{"packages": {"numpy": {"file_name": "numpy.whl"}}}')
    texts = {text: list(answers(text, str(folder / "model.py"))) for text in (MODELS["double pendulum"], OTHER, "")}
    (folder / "pyodide.js").write_text(STAND_IN % json.dumps(texts))
    return folder


@pytest.fixture(scope="module")
def site(stand_in, tmp_path_factory):
    return write_playground(tmp_path_factory.mktemp("site"), stand_in).parent


@pytest.fixture
def serve():
    """serve(folder): the address at which a server on the loopback interface offers a folder."""
    servers = []

    def begin(folder):
        kind = functools.partial(Quiet, directory=str(folder))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/"

    yield begin
    for server in servers:
        server.shutdown()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("Access-Control-Allow-Origin", "*")  # so that only the policy of the page refuses requests
        super().end_headers()

    def log_message(self, *_):
        pass


def without_native_code(site, tmp_path, names):
    """The answers of the site's own sources, in a process that has NumPy and no other package."""
    with zipfile.ZipFile(site / "kane.zip") as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-c", WITHOUT, str(tmp_path), *names]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=500)
    assert done.returncode == 0, done.stderr
    return {name: [json.loads(one) for one in found] for name, found in json.loads(done.stdout).items()}


@pytest.mark.parametrize("names", [QUICK, pytest.param(tuple(MODELS), marks=pytest.mark.slow)])
def test_equations_counts_and_page_need_numpy_alone_and_the_listing_is_the_desktops(site, tmp_path, names):
    for name, found in without_native_code(site, tmp_path, names).items():
        assert [one["kind"] for one in found] == ["equations", "counts", "page"], (name, found[-1].get("text"))
        namespace: dict = {}
        exec(MODELS[name], namespace)
        assert found[0]["text"] == listing(kane.formulate(namespace["model"])), name


def test_there_are_twenty_models_of_the_library():
    assert sum(name in dir(kane.library) for name in MODELS) >= 20


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("import kane\nmodel = kane.Model(", 2, "SyntaxError"),
        ("import kane\n\nmodel = kane.Modell('x')", 3, "Modell"),
        ("x = 1\ny = 1 / 0", 2, "division by zero"),
        ("import kane\nm = kane.library.wrist()", 0, "must assign a model"),
        ("import kane\nmodel = kane.library.wrist()\nq = {'zz': 1}", 0, "zz"),
        ("import sys\nsys.exit(3)", 2, "SystemExit"),
        ("import pathlib\n\ndef f():\n    open('/no/such/file')\nf()", 4, "No such file"),
    ],
)
def test_a_text_with_an_error_is_answered_by_its_line_and_a_cure(text, line, words, tmp_path):
    last = said(text, tmp_path)[-1]
    assert (last["kind"], last["line"]) == ("problem", line)
    assert words in last["text"]


def test_a_model_with_contacts_gets_a_page_with_sliders_and_a_remark(tmp_path):
    page = said(MODELS["ball on a floor"], tmp_path)[-1]
    assert page["page"]["mode"] == "model"
    assert "do not simulate contacts" in page["note"]


def test_a_folder_without_pyodide_is_refused_and_nothing_is_written(tmp_path):
    (tmp_path / "pyodide-lock.json").write_text('{"packages": {"numpy": {"file_name": "numpy-2.whl"}}}')
    with pytest.raises(kane.FileError, match=r"lacks pyodide\.js, .* numpy-2\.whl; give the folder"):
        write_playground(tmp_path / "site", tmp_path)
    assert not (tmp_path / "site").exists()


def test_the_page_shows_answers_requests_its_own_origin_only_and_its_link_carries_the_model(site, serve):
    address = serve(site)
    with Browser() as browser:
        tab = browser.open(f"{address}index.html")
        tab.wait(f"{STATUS} === 'double pendulum: derived.'")
        first = tab.run("document.getElementById('equations').textContent")
        assert first == listing(kane.formulate(_model("double pendulum")))
        tab.run(f"(editor.value = {json.dumps(OTHER)}, editor.dispatchEvent(new Event('input')))")
        tab.wait(f"{STATUS}.startsWith('wrist')")
        tab.run("document.getElementById('link').click()")
        tab.wait("location.hash.length > 20")
        link = tab.run("location.href")
        assert [r for r in tab.requests if not r.startswith((address, f"blob:{address}"))] == []
        assert tab.problems == []
        second = browser.open(link)
        second.wait(f"{STATUS}?.startsWith('wrist')")
        assert second.run("editor.value") == OTHER
        broken = browser.open(f"{address}index.html#abc")
        broken.wait(f"{STATUS}?.startsWith('The link is incomplete')")
        assert broken.run("editor.value") == MODELS["double pendulum"]


def test_python_reaches_its_own_origin_and_no_other(site, serve):
    address, other = serve(site), serve(site)
    with Browser() as browser:
        tab = browser.open(f"{address}index.html")
        tab.wait(f"{STATUS} === 'double pendulum: derived.'")
        for target, answer in ((address, "answered 200"), (other, "refused")):
            tab.run(f"(editor.value = '{target}models.json', derive())")
            tab.wait(f"{STATUS} === '{answer}'")


def test_a_model_that_runs_for_ever_is_stopped_and_the_next_one_is_derived(site, serve):
    with Browser() as browser:
        tab = browser.open(f"{serve(site)}index.html")
        tab.wait(f"{STATUS} === 'double pendulum: derived.'")
        tab.run(f"(window.ended = 0, {COUNT_ENDED})")
        tab.run("(editor.value = 'while True: pass', derive())")
        tab.wait(f"{STATUS}.includes('longer than 5 s and was stopped')")
        assert tab.run("window.ended") == 1
        tab.run("(editor.value = 'x', derive())")
        tab.wait(f"{STATUS}.includes('must assign a model')")


def test_a_browser_that_blocks_workers_is_told_so(site, serve, tmp_path):
    for file in site.iterdir():
        if file.is_file():
            text = file.read_bytes()
            (tmp_path / file.name).write_bytes(text.replace(b"worker-src blob:", b"worker-src 'none'"))
    with Browser() as browser:
        tab = browser.open(f"{serve(tmp_path)}index.html")
        tab.wait(f"{STATUS}?.startsWith('Python cannot start in this browser')")


@pytest.mark.slow
def test_pyodide_gives_the_listings_of_the_desktop(serve, tmp_path):
    folder = os.environ.get("KANE_PYODIDE")
    if not folder:
        pytest.skip("Pyodide was NOT tested: KANE_PYODIDE names no folder of a distribution")
    address = serve(write_playground(tmp_path, Path(folder)).parent)
    with Browser() as browser:
        tab = browser.open(f"{address}index.html")
        tab.wait(f"{STATUS} === 'double pendulum: derived.'")
        for name, text in MODELS.items():
            tab.run(f"(editor.value = {json.dumps(text)}, document.getElementById('equations').textContent = '')")
            tab.run("derive()")
            tab.wait("ready && !busy && document.getElementById('equations').textContent")
            assert tab.run("document.getElementById('equations').textContent") == listing(
                kane.formulate(_model(name))
            ), name
        assert [r for r in tab.requests if not r.startswith((address, f"blob:{address}"))] == []


def _model(name):
    namespace: dict = {}
    exec(MODELS[name], namespace)
    return namespace["model"]
