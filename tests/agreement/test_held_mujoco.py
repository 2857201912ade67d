"""What is imposed on a motion keeps the configuration it found: drift beside that of MuJoCo's equalities, in one test.

MuJoCo's are springs; it vouches for the motion until the chain is pinned, and its drift is the figure to compare with.
"""

import numpy as np
import pytest

import kane

mujoco = pytest.importorskip("mujoco")

LINKS, UNTIL, AT, STEP = 4, 20.0, 0.5, 1e-3


def ends(q):
    """Where the chain ends, (times, 2)."""
    angles = np.cumsum(q, axis=-1)
    return 0.5 * np.stack([np.cos(angles).sum(axis=-1), np.sin(angles).sum(axis=-1)], axis=-1)


def chain():
    m = kane.Model("chain", gravity=(0, -9.81, 0))
    last = m.ground
    for k in range(LINKS):
        body = m.body(f"b{k}", mass=1.0, inertia=(0.05,) * 3, com=(0.25, 0, 0))
        m.connect(last, body, kane.Revolute(f"q{k}", axis="z"), at=(0.5 if k else 0.0, 0, 0))
        last = body
    v = last.point((0.5, 0, 0)).velocity
    m.switch([v.dot(m.ground.x), v.dot(m.ground.y)], on=m.time - AT, name="pin")
    return kane.simulate(kane.build(kane.formulate(m)), until=UNTIL)


def twin():
    """The same in MuJoCo: times and coordinates behind each step."""
    links = [
        f'<body name="b{k}" pos="{0.5 if k else 0.0} 0 0"><joint axis="0 0 1"/>'
        '<inertial pos="0.25 0 0" mass="1" diaginertia="0.05 0.05 0.05"/>'
        for k in range(LINKS)
    ]
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option gravity="0 -9.81 0" timestep="{STEP}" integrator="RK4"/><worldbody>{"".join(links)}'
        f'{"</body>" * LINKS}</worldbody><equality><connect body1="b{LINKS - 1}" anchor="0.5 0 0"/></equality></mujoco>'
    )
    data, found = mujoco.MjData(model), []
    data.eq_active[0] = 0
    for k in range(round(UNTIL / STEP)):
        if k == round(AT / STEP):
            model.eq_data[0, 3:6] = [*ends(data.qpos), 0.0]
            data.eq_active[0] = 1
        mujoco.mj_step(model, data)
        found.append([data.time, *data.qpos])
    return np.array(found)[:, 0], np.array(found)[:, 1:]


def test_a_chain_pinned_on_its_way_stays_pinned():
    run, (times, q) = chain(), twin()
    drift = np.ptp(ends(run.q[run.active("pin")]), axis=0).max()
    other = np.ptp(ends(q[times > AT + 1.0]), axis=0).max()
    assert drift < 1e-13
    assert other > 1e-6  # else there is a peer that does as well, and the guide has to say so
    early = (run.time > 0.0) & (run.time < AT)  # until then both are the same mechanism
    expected = [np.interp(run.time[early], times, column) for column in q.T]
    np.testing.assert_allclose(run.q[early], np.transpose(expected), atol=1e-4)
