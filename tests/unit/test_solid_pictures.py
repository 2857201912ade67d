"""Solid pictures, films and what notebooks show."""

import re
import shutil

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

import kane
from kane.display import video
from kane.display.scene import scene_of
from kane.errors import FileError, ModelError


@pytest.fixture(scope="module")
def run():
    return kane.simulate(kane.build(kane.formulate(kane.library.n_link_pendulum(1))), until=0.3, q={"q2": 1.0})


def box_on_a_rail():
    """A red-less box of 1 m that slides along x, seen with gravity along -z."""
    m = kane.Model("box")
    b = m.body("b", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, b, kane.Prismatic("x", axis="x"))
    b.shape(kane.Box(1.0, 1.0, 1.0))
    return m


def pixels(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)


def test_a_box_is_seen_in_its_colour_and_casts_a_shadow():
    picture = pixels(kane.draw3d(box_on_a_rail()))
    blue = (picture[..., 2] > picture[..., 0] + 40).mean()
    shadow = (np.abs(picture - (0xDF, 0xE2, 0xE7)).max(axis=-1) <= 3).mean()
    # A box seen from a corner fills about a third of a picture that it fits in; it hides most of its shadow.
    assert 0.15 < blue < 0.6
    assert 0.003 < shadow < 0.4


def test_what_is_in_front_hides_what_is_behind():
    m = box_on_a_rail()
    hidden = m.body("hidden", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, hidden, kane.Weld())
    hidden.shape(kane.Box(0.5, 0.5, 0.5))
    orange = [
        (p[..., 0] > p[..., 2] + 40).sum() for p in (pixels(kane.draw3d(m)), pixels(kane.draw3d(m, q={"x": 3.0})))
    ]
    assert orange[0] == 0
    assert orange[1] > 100


def test_coordinates_and_parameters_move_and_size_it():
    m = kane.library.n_link_pendulum(2)
    plain, bent = pixels(kane.draw3d(m)), pixels(kane.draw3d(m, q={"q2": 1.0}))
    assert np.any(plain != bent)
    m = kane.Model("rod")
    rod = m.body("rod", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, rod, kane.Revolute("q1", axis="z"))
    rod.shape(kane.Box(m.parameter("L", 1.0), 0.1, 0.1))
    assert np.any(pixels(kane.draw3d(m)) != pixels(kane.draw3d(m, parameters={"L": 3.0})))


@pytest.mark.parametrize(
    "name", [n for n in kane.library.__all__ if n.endswith(("bar", "arm", "bicycle", "tree", "disk"))]
)
def test_models_of_the_library_are_drawn(name):
    picture = pixels(kane.draw3d(getattr(kane.library, name)()))
    assert (picture != 255).any(axis=-1).mean() > 0.001


def test_forces_are_drawn_on_pictures_and_in_films(tmp_path):
    model = kane.library.four_bar()
    dyn = kane.build(kane.formulate(model))
    start = kane.assemble(dyn, q={"q1": 0.5}, u={"u1": 7.0}, fixed=["q1", "u1"])
    size = {"q": start.q, "u": start.u, "size": (2, 2)}
    plain, drawn = pixels(kane.draw3d(dyn, **size)), pixels(kane.draw3d(dyn, **size, arrows=["q1", "loop"]))
    assert np.any(plain != drawn)
    red = [int("c8504b"[k : k + 2], 16) for k in (0, 2, 4)]
    assert (np.abs(drawn.astype(int) - red).max(axis=-1) < 12).sum() > 20
    words = [text.get_text() for text in kane.draw3d(dyn, **size, arrows=["q1", "loop"]).axes[0].texts]
    assert words[1:] == ["loop", "q1"]
    assert re.fullmatch(r"1 m: [0-9.]+ N", words[0])  # in a plane, of bearings: no torques
    assert not (np.abs(plain.astype(int) - red).max(axis=-1) < 12).any()
    run = kane.simulate(dyn, until=0.1, q=start.q, u=start.u)
    path = run.save_video(tmp_path / "x.gif", fps=10, size=(64, 64), arrows=["q1"])
    assert path.read_bytes() != run.save_video(tmp_path / "y.gif", fps=10, size=(64, 64)).read_bytes()
    with pytest.raises(ModelError, match="no joint, constraint, contact or load"):
        kane.draw3d(model, arrows=["nowhere"])


def test_what_cannot_be_drawn_is_refused_by_name():
    m = box_on_a_rail()
    for given, words in [
        ({"q": {"y": 1}}, "coordinate 'y'"),
        ({"parameters": {"y": 1}}, "parameter 'y'"),
        ({"size": 3}, "size of a picture"),
        ({"size": (1, -1)}, "size of a picture"),
        ({"size": 10**5000}, "size of a picture"),  # too long to be printed
        ({"t": "x"}, "t must|t is"),
    ]:
        with pytest.raises(ModelError, match=words):
            kane.draw3d(m, **given)
    with pytest.raises(ModelError, match="cannot be viewed"):
        kane.draw3d(3)


def test_a_gif_has_the_pictures_of_the_run(run, tmp_path):
    path = run.save_video(tmp_path / "x.gif", fps=20, size=(160, 120))
    with Image.open(path) as film:
        assert film.size == (160, 120)
        assert film.n_frames == 7  # 0.3 s at 20 a second, both ends
        assert film.info["duration"] == 50
        first = np.asarray(film.convert("RGB")).copy()
        film.seek(6)
        assert np.any(np.asarray(film.convert("RGB")) != first)


def test_speed_makes_films_shorter(run, tmp_path):
    with Image.open(run.save_video(tmp_path / "x.gif", fps=20, speed=3.0, size=(160, 120))) as film:
        assert film.n_frames == 3


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="MP4 was NOT tested: ffmpeg is not on this machine")
@pytest.mark.parametrize("kind", ["mp4", "webm"])
def test_ffmpeg_makes_films_that_it_reads_again(run, kind, tmp_path):
    path = run.save_video(tmp_path / f"x.{kind}", fps=20, size=(160, 120))
    assert path.stat().st_size > 500
    import subprocess

    told = subprocess.run(["ffprobe", "-show_streams", str(path)], capture_output=True, text=True, check=True).stdout
    assert "width=160" in told
    assert re.search(r"r_frame_rate=20/1", told)


def test_without_ffmpeg_the_error_says_what_to_do(run, tmp_path, monkeypatch):
    monkeypatch.setattr(video.shutil, "which", lambda _: None)
    with pytest.raises(FileError, match=r"ffmpeg.*apt-get install.*\.gif"):
        run.save_video(tmp_path / "x.mp4")


def test_what_is_no_film_is_refused_before_anything_is_drawn(run, tmp_path):
    for path, given, words in [
        ("x.avi", {}, "is no video"),
        ("x.gif", {"fps": 60}, "50 frames per second"),
        ("x.gif", {"fps": 0}, "fps"),
        ("x.gif", {"speed": -1}, "speed"),
        ("x.gif", {"size": (101, 100)}, "even numbers"),
        ("x.gif", {"size": 100}, "even numbers"),
        ("x.gif", {"speed": 1e-9}, "frames"),
    ]:
        with pytest.raises((FileError, ModelError), match=words):
            run.save_video(tmp_path / path, **given)
    with pytest.raises(FileError, match="no folder"):
        run.save_video(tmp_path / "nowhere" / "x.gif", fps=10, size=(32, 32))
    assert list(tmp_path.iterdir()) == []


def test_notebooks_show_models_equations_dynamics_runs_and_certificates(run):
    eqs = kane.formulate(kane.library.n_link_pendulum(1))
    dyn = kane.build(eqs)
    certificate = kane.certify(kane.library.n_link_pendulum(1), states=1)
    for shown in (eqs.model, eqs, dyn, run, certificate):
        assert re.search(r"<(p|pre|table|svg|div)", shown._repr_html_())
    assert eqs._repr_latex_().startswith("$$\n\\begin{aligned}")
    assert dyn._repr_latex_() == eqs._repr_latex_()
    assert "<svg" in run._repr_html_()
    assert certificate._repr_html_().count("<tr>") == 1 + len(certificate)
    bar = kane.formulate(kane.library.four_bar())
    assert bar._repr_latex_() is None
    assert "before constraints are embedded numerically" in bar._repr_html_()
    assert kane.formulate(kane.library.random_tree())._repr_latex_() is None


def test_names_cannot_become_markup_in_notebooks():
    m = kane.Model("<img src=x>")
    b = m.body("b", mass=1.0, inertia=(1, 1, 1))
    m.connect(m.ground, b, kane.Revolute("q1", axis="z"))
    dyn = kane.build(kane.formulate(m))
    for shown in (m, dyn.equations, dyn, kane.simulate(dyn, until=0.1)):
        assert "<img" not in shown._repr_html_()


def test_surfaces_of_contacts_are_drawn_where_bodies_have_no_shapes():
    """A ball on a floor, beside a post that is part of the ground; a finger keeps its rod and has its pad."""
    m = kane.Model("ball", gravity=(0, 0, -9.81))
    ball, finger = m.body("ball", mass=1.0, inertia=(0.004,) * 3), m.body("finger", mass=0.1)
    m.connect(m.ground, ball, kane.Free("ball"))
    m.connect(m.ground, finger, kane.Prismatic("x", axis="x"), at=(1, 0, 0))
    sphere = kane.Sphere(ball.point(), 0.1)
    m.contact(sphere, kane.Plane(m.ground.point(), m.ground.z), name="floor")
    m.contact(sphere, kane.Cylinder(m.ground.point((0.5, 0, 0)), m.ground.z, 0.05), name="post")
    m.contact(sphere, kane.Plane(finger.point(), finger.x), name="pad")
    shown = [(piece.body, piece.form) for piece in scene_of(kane.formulate(m)).pieces if piece.look != "guess"]
    rail = (0, "ball")  # where the finger hangs
    assert shown == [(1, "ball"), (0, "square"), (0, "tube"), (2, "square"), rail]
    assert any(piece.body == 2 and piece.look == "guess" for piece in scene_of(kane.formulate(m)).pieces)
    ball.shape(kane.Box(0.1, 0.1, 0.1))
    shown = [(piece.body, piece.form) for piece in scene_of(kane.formulate(m)).pieces if piece.body == 1]
    assert shown == [(1, "box")]  # what the model says counts
