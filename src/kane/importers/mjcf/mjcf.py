"""Import models from MJCF files, with MuJoCo's own parser (extra ``mjcf``)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from kane.errors import ImportFileError, ModelError, pip_install
from kane.files.source_file import given_source
from kane.geometry.inertia import of_six
from kane.geometry.rotation import Rotation
from kane.importers.left_out import LeftOut
from kane.importers.mesh_folder import MeshFolder
from kane.importers.missing import Missing, warn_of_missing
from kane.importers.mjcf.geoms import GEOM_SHAPES, SHOWN_GROUPS
from kane.importers.mjcf.mjcf_description import (
    ActuatorEntry,
    BodyEntry,
    GeomEntry,
    MjcfDescription,
    MjcfJoint,
    SiteEntry,
)
from kane.importers.mjcf.model_of_mjcf import build_mjcf_model
from kane.importers.mjcf.source import MJCF_PART_KINDS, SafeText, safe_text
from kane.importers.pose import XYZ, MassProperties
from kane.importers.touching import Wanted, require_touching
from kane.model.checks import near
from kane.model.contacts import Coulomb
from kane.model.contacts.restitution import Restitution
from kane.model.model import Model

ESSENTIAL = ("flexible", "pair")
# Numbers below this fraction of the largest entry count as zero. MuJoCo's iteration for principal axes leaves errors of
# about 1e-12, and its normalization of quaternions leaves rounding errors.
REMNANT = 1e-12


def load_mjcf(
    source: str | bytes | os.PathLike[str],
    *,
    essential: Iterable[str] = ESSENTIAL,
    root: str | os.PathLike[str] | None = None,
    stops: bool | None = None,
    floor: float | None = None,
    friction: Coulomb | None = None,
    restitution: float | Restitution = 0.0,
    hulls: int | None = None,
    contacts: str | None = None,
) -> Model:
    """Return the model that an MJCF file describes, with MuJoCo's coordinates.

    MuJoCo's parser resolves defaults, angles, frames and the inertia inferred from geoms. Joints become free,
    spherical, prismatic and revolute joints. Several joints on one body become a chain with massless bodies between
    them. Coordinates have the names of the joints and MuJoCo's values, with two exceptions: quaternions come before
    positions, and both velocities of a free body are measured along the axes of the body. Sites become named frames.

    Springs, damping and gravity compensation become loads. The armature of a hinge or slide becomes a rotor on the
    ground that turns with the coordinate. As in MuJoCo, it only adds to the diagonal of the mass matrix. Every actuator
    on a joint or site, motor or servo, has an input of the same name, its activation if it has activation dynamics.

    Primitive geoms and meshes in the groups that MuJoCo shows become shapes for pictures. Meshes must be inside
    ``root``, by default the package of the file (or its folder, if no folder above has a package.xml). They are opened
    only when they are drawn. ``model.notes`` lists meshes that cannot be shown.

    On request, limits become stops, and geoms become contacts with a level floor: the geoms of all groups
    with nonzero contype or conaffinity, except on fixed bodies. With ``contacts="all"`` geoms touch each other where
    MuJoCo lets them: contype, conaffinity, pairs and exclusions count. A body does not touch its parent, unless the
    parent is fixed. Planes and other geoms of fixed bodies are included. Friction and restitution are the
    arguments given here; the contact compliance in the file is ignored.

    Left out, and listed in ``model.notes``, are equality constraints, tendons and their loads, dry friction, muscles,
    fluids, plugins, flexible bodies, keyframes and sensors. ``model.notes`` also lists pairs of shapes without a
    contact rule. Limits and contacts are left out unless requested. One ``ImportFileWarning`` names the omitted parts
    that change the motion: all except keyframes, sensors, and limits with ``stops=False``.

    Args:
        source: path of the file; or its text, as bytes or as a str that begins with "<".
        essential: kinds of parts that must not be left out: "contact", "pair", "equality", "tendon", "friction",
            "limit", "actuator", "spring", "armature", "fluid", "flexible", "plugin", "mocap", "keyframe", "sensor". The
            default is contact pairs that the file lists explicitly, and flexible bodies.
        root: folder that must contain the file, its includes and its meshes, after symbolic links are resolved; by
            default the file's own folder. As in MuJoCo 4, paths are relative to the file's folder or, if no file exists
            there, to the folder of the included file that names them. Meshes are opened only if inertia is inferred
            from them or ``hulls`` is given; other files are never opened.
        stops: whether the limits of hinges and slides become stops without rebound (``Model.stop``). False leaves them
            out without a warning, None with a warning.
        floor: height of a level floor that geoms can touch [m]; None for no floor. Contacts have the names of the
            geoms, or of their bodies (``Model.contact``). Planes of the file are other floors.
        friction, restitution: properties of all contacts, as for ``Model.contact``.
        hulls: largest number of corners, 4 or more, of the convex hulls by which meshes touch;
            ``model.notes`` lists their distances from the meshes. None leaves meshes out.
        contacts: "all" for contacts between geoms, called "geom on geom"; None for none.

    Raises:
        ImportFileError: MuJoCo is not installed; the file cannot be read, is malformed or hostile, or needs a file
            outside ``root``; its numbers are not physical; an essential part would be left out; or nothing can touch
            anything, although ``floor`` or ``contacts`` is given.
        ModelError: an argument is invalid, or names in the file clash.
    """
    left_out, wanted = LeftOut(MJCF_PART_KINDS, essential), Wanted(stops, floor, friction, restitution, hulls, contacts)
    given = given_source(source, root, "an MJCF file")
    text = safe_text(given, root, left_out, wanted)
    mujoco = _parser(text.name)
    description = _described(text, mujoco, left_out.notes)
    looks = safe_text(given, root, LeftOut(MJCF_PART_KINDS, ()), wanted, looks=True)
    geoms, exclusions = _geoms(looks, mujoco, left_out.notes, needed=wanted.touching)
    description = replace(description, geoms=geoms, exclusions=exclusions, folder=MeshFolder.of(given, root))
    try:
        model = build_mjcf_model(description, left_out, wanted)
    except ModelError as error:
        raise ImportFileError(f"{text.name}: {error}") from None
    warn_of_missing(text.name, model.notes)
    if wanted.touching:
        cure = "correct contype, conaffinity and <exclude>, "
        require_touching(model, text.name, "primitive geoms to moving bodies", cure)
    return model


def _parser(name: str) -> Any:
    try:
        import mujoco
    except ImportError:
        raise ImportFileError(f"{name}: MJCF is read by MuJoCo's own parser; {pip_install('mjcf')}") from None
    return mujoco


def _said(text: str) -> Missing:
    return Missing("MuJoCo says", text, f"MuJoCo says: {text}")


@contextmanager
def _warnings_noted(mujoco: Any, notes: list[str]) -> Iterator[None]:
    """Turn MuJoCo's warnings into notes, because MuJoCo would write them to a file in the working folder."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: notes.append(_said(" ".join(str(text).split()))))
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def _described(text: SafeText, mujoco: Any, notes: list[str]) -> MjcfDescription:
    """Return the contents of the file as resolved by MuJoCo."""
    try:
        with _warnings_noted(mujoco, notes):
            m = mujoco.MjModel.from_xml_string(text.text, text.assets)
    except (ValueError, RuntimeError) as error:
        words = text.in_the_original(" ".join(str(error).split()))
        cure = _nearest(mujoco, words) or "correct the file"
        raise ImportFileError(f"{text.name}: MuJoCo does not accept it: {words}; {cure}") from None
    reader = _Reader(m, mujoco, text.name)
    disabled = reader.disabled()
    return MjcfDescription(
        name=m.names[: m.names.index(b"\0")].decode() or "model",
        source=text.name,
        gravity=(0.0, 0.0, 0.0) if "GRAVITY" in disabled else reader.vector(m.opt.gravity, "gravity"),
        bodies=[reader.body(i) for i in range(m.nbody)],
        sites=[reader.site(i) for i in range(m.nsite)],
        actuators=[reader.actuator(i) for i in range(m.nu)],
        disabled=disabled,
        fluid=bool(m.opt.density or m.opt.viscosity),
    )


def _nearest(mujoco: Any, words: str) -> str:
    """Return a hint for an element or attribute that MuJoCo does not know; empty for other errors."""
    unknown = re.search(r"unrecognized (?:element Element|attribute:) '([^']*)'", words)
    if unknown is None or not hasattr(mujoco, "mj_printSchema"):
        return ""
    return near(unknown[1], sorted(set(re.findall(r"[a-z]\w*", mujoco.mj_printSchema(False, False)))))


def _geoms(
    text: SafeText, mujoco: Any, notes: list[str], *, needed: bool
) -> tuple[tuple[GeomEntry, ...], frozenset[tuple[int, int]]]:
    """Return the geoms that are shown or may touch, and the pairs of bodies that the file excludes from contact.

    If MuJoCo cannot read them, raise ImportFileError if they are ``needed``, else add a note and return none.
    """
    try:
        with _warnings_noted(mujoco, []):
            m = mujoco.MjModel.from_xml_string(text.text, text.assets)
        reader = _Reader(m, mujoco, text.name)
        excluded = [sorted((int(x) >> 16, int(x) & 0xFFFF)) for x in m.exclude_signature]
        geoms = filter(None, (reader.geom(i, text.meshes) for i in range(m.ngeom)))
        return tuple(geoms), frozenset((a, b) for a, b in excluded)
    except (ValueError, RuntimeError, ImportFileError) as error:
        words = text.in_the_original(" ".join(str(error).split()))
        if needed:
            raise ImportFileError(
                f"{text.name}: its geoms, which should touch something, cannot be read: {words}"
            ) from None
        notes.append(f"its geoms cannot be read, and are not shown: {words}")
        return (), frozenset()


class _Reader:
    """Reader of entries of MuJoCo's arrays as plain numbers, checked to be finite."""

    def __init__(self, m: Any, mujoco: Any, source: str) -> None:
        self.m, self.mujoco, self.source = m, mujoco, source

    def disabled(self) -> frozenset[str]:
        """Return the features that the file disables: GRAVITY, SPRING, DAMPER, ACTUATION, ..."""
        bits = self.mujoco.mjtDisableBit
        names = {name.removeprefix("mjDSBL_") for name, bit in bits.__members__.items() if name.startswith("mjDSBL_")}
        found = {name for name in names if self.m.opt.disableflags & int(getattr(bits, f"mjDSBL_{name}"))}
        # Older versions of MuJoCo have one switch for springs and dampers.
        return frozenset(found | ({"SPRING", "DAMPER"} if "PASSIVE" in found else set()))

    def numbers(self, values: Any, what: str) -> tuple[float, ...]:
        array = np.ravel(np.asarray(values, float))
        if not np.isfinite(array).all():
            raise ImportFileError(f"{self.source}: {what} is {array.tolist()}; give finite numbers")
        return tuple(map(float, array))

    def vector(self, values: Any, what: str) -> XYZ:
        x, y, z = self.numbers(values, what)
        return x, y, z

    def pose(self, position: Any, quaternion: Any, what: str) -> tuple[Rotation, XYZ]:
        matrix = np.zeros(9)
        self.mujoco.mju_quat2Mat(matrix, np.asarray(self.numbers(quaternion, f"the orientation of {what}")))
        return Rotation.matrix(_projected(matrix).reshape(3, 3)), self.vector(position, f"the position of {what}")

    def body(self, i: int) -> BodyEntry:
        m, name = self.m, self.m.body(i).name
        who = f"body {name!r}"
        orientation, position = self.pose(m.body_pos[i], m.body_quat[i], who)
        first, count = int(m.body_jntadr[i]), int(m.body_jntnum[i])
        return BodyEntry(
            name=name,
            parent=int(m.body_parentid[i]),
            orientation=orientation,
            position=position,
            mass=self.mass(i, who),
            joints=tuple(self.joint(j) for j in range(first, first + count)),
            weightless=self.numbers(m.body_gravcomp[i], f"gravcomp of {who}")[0],
            mocap=bool(m.body_mocapid[i] >= 0),
        )

    def mass(self, i: int, who: str) -> MassProperties:
        m = self.m
        moments = np.array(self.numbers(m.body_inertia[i], f"the inertia of {who}"))
        turn, com = self.pose(m.body_ipos[i], m.body_iquat[i], f"the inertia of {who}")
        R = turn.as_numpy()
        I = _projected(R @ np.diag(moments) @ R.T)
        six = (I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        return MassProperties(
            self.numbers(m.body_mass[i], f"the mass of {who}")[0], com, of_six(tuple(map(float, six)))
        )

    def joint(self, j: int) -> MjcfJoint:
        m, name = self.m, self.m.joint(j).name
        who = f"joint {name!r}"
        kind = self.mujoco.mjtJoint(int(m.jnt_type[j])).name.removeprefix("mjJNT_").lower()
        q, v = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
        numbers = {
            "reference": m.qpos0[q],
            "stiffness": m.jnt_stiffness[j],
            "rest": m.qpos_spring[q],
            "damping": m.dof_damping[v],
            "armature": m.dof_armature[v],
            "friction": m.dof_frictionloss[v],
        }
        return MjcfJoint(
            name=name,
            kind=kind,
            at=self.vector(m.jnt_pos[j], f"the position of {who}"),
            axis=self.vector(_projected(m.jnt_axis[j]), f"the axis of {who}"),
            curved=self.any("jnt_stiffnesspoly", j) or self.any("dof_dampingpoly", v) or self.any("jnt_springyield", j),
            limits=self.pair(m.jnt_range[j], f"the range of {who}") if m.jnt_limited[j] else None,
            held_back=self.any("jnt_actfrclimited", j),
            **{word: self.numbers(value, f"the {word} of {who}")[0] for word, value in numbers.items()},
        )

    def any(self, word: str, i: int) -> bool:
        """Return whether entry i of an array is nonzero; False if this version of MuJoCo lacks the array."""
        return bool(np.any(getattr(self.m, word)[i])) if hasattr(self.m, word) else False

    def site(self, i: int) -> SiteEntry:
        name = self.m.site(i).name
        pose = self.pose(self.m.site_pos[i], self.m.site_quat[i], f"site {name!r}")
        return SiteEntry(name, int(self.m.site_bodyid[i]), *pose)

    def geom(self, i: int, files: Mapping[str, str]) -> GeomEntry | None:
        """Return a geom; None if it is neither shown nor touches, or if its kind is not supported."""
        m, mesh = self.m, int(self.m.geom_dataid[i])
        kind = self.mujoco.mjtGeom(int(m.geom_type[i])).name.removeprefix("mjGEOM_").lower()
        shown = bool(m.geom_group[i] < SHOWN_GROUPS and m.geom_rgba[i][3] > 0.0)
        masks = int(m.geom_contype[i]), int(m.geom_conaffinity[i])
        pairs = [*zip(m.pair_geom1.tolist(), m.pair_geom2.tolist(), strict=True)]
        partners = frozenset(a + b - i for a, b in pairs if i in (a, b))
        if not (shown or any(masks) or partners):
            return None
        name, seen = m.geom(i).name, (shown, masks, partners, i)
        R, p = self.pose(m.geom_pos[i], m.geom_quat[i], "a geom")
        if kind == "mesh":
            # MuJoCo moves a mesh to its centre and principal axes; undo this.
            turn, away = self.pose(m.mesh_pos[mesh], m.mesh_quat[mesh], "a mesh")
            R = Rotation.matrix(_projected(R.as_numpy() @ turn.as_numpy().T))
            at = self.vector(_projected(np.array(p) - R.as_numpy() @ away), "the position of a mesh")
            scale = self.vector(m.mesh_scale[mesh], "the scale of a mesh")
            return GeomEntry(name, kind, scale, int(m.geom_bodyid[i]), R, at, *seen, files.get(m.mesh(mesh).name, ""))
        # Primitives fitted to meshes have unknown sizes, as meshes are not read.
        if kind not in GEOM_SHAPES or mesh >= 0:
            return None
        return GeomEntry(
            name, kind, self.vector(m.geom_size[i], "the size of a geom"), int(m.geom_bodyid[i]), R, p, *seen
        )

    def actuator(self, i: int) -> ActuatorEntry:
        m, name, kinds = self.m, self.m.actuator(i).name, self.mujoco
        who = f"actuator {name!r}"
        gain = kinds.mjtGain(int(m.actuator_gaintype[i])).name
        bias = kinds.mjtBias(int(m.actuator_biastype[i])).name
        p, b = (self.vector(x[i][:3], f"the law of {who}") for x in (m.actuator_gainprm, m.actuator_biasprm))
        extra = [word for word in ("armature", "damping", "dampingpoly", "delay") if self.any(f"actuator_{word}", i)]
        return ActuatorEntry(
            name=name,
            through=kinds.mjtTrn(int(m.actuator_trntype[i])).name.removeprefix("mjTRN_").lower(),
            target=int(m.actuator_trnid[i][0]),
            gear=self.numbers(m.actuator_gear[i], f"the gear of {who}"),
            gain={"mjGAIN_FIXED": (p[0], 0.0, 0.0), "mjGAIN_AFFINE": p}.get(gain),
            bias={"mjBIAS_NONE": (0.0, 0.0, 0.0), "mjBIAS_AFFINE": b}.get(bias),
            dynamics=kinds.mjtDyn(int(m.actuator_dyntype[i])).name.removeprefix("mjDYN_").lower(),
            control_range=self.range("ctrl", i),
            force_range=self.range("force", i),
            extra=", ".join(extra),
        )

    def range(self, word: str, i: int) -> tuple[float, float] | None:
        if not getattr(self.m, f"actuator_{word}limited")[i]:
            return None
        return self.pair(getattr(self.m, f"actuator_{word}range")[i], f"{word}range of an actuator")

    def pair(self, values: Any, what: str) -> tuple[float, float]:
        low, high = self.numbers(values, what)
        return low, high


def _projected(values: Any) -> np.ndarray:
    """Return the values with rounding errors of zeros set to zero."""
    array = np.array(values, float)
    array[np.abs(array) <= REMNANT * np.abs(array).max(initial=0.0)] = 0.0
    return array
