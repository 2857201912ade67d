"""Pages: steps a second in Node beside native code, frames a second in Chromium, the server's share of a core, sizes.

python -m benchmarks.pages
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import kane
from kane.display.live_motion import live_page
from kane.display.page import asset

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from oracles.browser import Browser
from oracles.node import run_script


def ur5():
    """The UR5 with damped joints, thrown from a bent pose."""
    model = kane.load_urdf(kane.example_robot("ur5"), stops=False)
    for connection in model.connections:
        model.load(kane.Damper(connection, 0.5))
    return kane.build(kane.formulate(model)), np.array([0.3, -1.0, 1.2, 0.4, 0.7, 0.2]), np.full(6, 0.5)


def steps():
    """One second of the UR5 by RK5 with errors of 1e-11: evaluations a second in the page and in native code."""
    dyn, q, u = ur5()
    method = kane.RK5(rtol=1e-11, atol=1e-11)
    kane.simulate(dyn, until=0.1, q=q, u=u, integrator=method)
    began = time.process_time()
    kane.simulate(dyn, until=10.0, q=q, u=u, integrator=method)
    native = (time.process_time() - began) / 10.0
    page = live_page(dyn.equations, start=(0.0, [*q, *u]), sliders_asked=(), parameters={}, inputs={})
    scripts = asset("linear.js") + asset("motion.js") + "const window = {};\n" + page.source()
    began, steps, evaluations = run_script(f"""{scripts}
const motion = new Motion({json.dumps(page.content["motion"])}, window.kane_programs());
motion.x = Float64Array.from({[*q.tolist(), *u.tolist()]});
motion.advance(2);
const before = motion.evaluations, first = motion.steps, start = performance.now();
motion.advance(12);
give((performance.now() - start) / 1000);
give(motion.steps - first);
give(motion.evaluations - before);
""")
    each = f"page {1e3 * began / 10:.1f} ms ({steps / 10:.0f} steps), native {1e3 * native:.2f} ms"
    print(f"UR5, a second of motion: {each}")
    print(f"UR5, an evaluation in the page: {1e6 * began / evaluations:.1f} us")


def frames():
    """The live UR5 in headless Chromium, software rendering."""
    dyn, q, u = ur5()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        for meshes in (True, False):
            model = dyn.equations.model
            shapes = list(model.shapes)
            if not meshes:
                model.shapes.clear()
            path = dyn.save_html(
                Path(folder) / "live.html", q=q, u=u, sliders=[leaf.name for leaf in dyn.equations.inputs]
            )
            model.shapes[:] = shapes
            tab = browser.open(path.as_uri(), width=800, height=600)
            tab.wait("window.kane && kane.frames > 30", seconds=60)
            before, t, began = tab.run("kane.frames"), tab.run("kane.motion.time"), time.monotonic()
            time.sleep(5.0)
            took = time.monotonic() - began
            rate, pace = (tab.run("kane.frames") - before) / took, (tab.run("kane.motion.time") - t) / took
            size, quality = path.stat().st_size / 1e6, tab.run("LEVELS[kane.level].pixels")
            what = "with meshes" if meshes else "without meshes"
            print(f"UR5 live, {what}: {rate:.0f} frames/s, {pace:.2f} s/s, resolution x {quality}, file {size:.2f} MB")
            tab.close()


def server():
    """Talos as it steps, 60 frames a second to one page."""
    model = kane.load_urdf(kane.example_robot("talos_reduced"), base=kane.Free("base"), stops=False)
    dyn = kane.build(kane.formulate(model))
    stepper = kane.Stepper(dyn, integrator=kane.RK4())
    with kane.view(stepper) as view:
        address, _, token = view.url.partition("#")
        heard = []

        def listen():
            with connect(address.replace("http", "ws"), origin=address.rstrip("/"), max_size=None) as page:
                page.send(token)
                page.recv()
                with suppress(ConnectionClosed):
                    while True:
                        heard.append(len(page.recv()))

        thread = threading.Thread(target=listen)
        thread.start()
        time.sleep(1.0)
        began, first, used, stepping = time.monotonic(), len(heard), time.process_time(), 0.0
        while time.monotonic() < began + 5.0:
            before = time.thread_time()
            stepper.step(1e-4)
            stepping += time.thread_time() - before
            time.sleep(1 / 120)
        took, spent = time.monotonic() - began, time.process_time() - used - stepping
        rate, share = (len(heard) - first) / took, 100 * spent / took
        print(f"Talos served: {rate:.0f} frames/s of {heard[-1]} bytes, {share:.1f} % of a core, the reader included")
    thread.join(15.0)


if __name__ == "__main__":
    steps()
    frames()
    server()
