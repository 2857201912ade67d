"""Find robots of the package example-robot-data by name; the package contains only files and cannot be imported."""

from __future__ import annotations

from pathlib import Path

from kane.errors import ImportFileError, pip_install, shown
from kane.model.checks import near

ROBOTS_FOLDER = "cmeel.prefix/share/example-robot-data/robots"


def example_robot(name: str) -> Path:
    """Return the path of a robot's URDF file in the package example-robot-data (extra ``demo``), for ``load_urdf``.

    Args:
        name: name of the file, for example "ur5", "panda" or "talos_reduced". The endings ".urdf" and "_robot.urdf" may
            be omitted. If several files have the same name, put folders in front of it.

    Raises:
        ImportFileError: the package is not installed, has no robot of this name, or has several; the message lists
            similar or matching names.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # here, because it takes 15 milliseconds

    if not isinstance(name, str):
        raise ImportFileError(f"{shown(name)} is no name of a robot; give one such as 'ur5'")
    try:
        folder = Path(str(distribution("example-robot-data").locate_file(ROBOTS_FOLDER)))
    except PackageNotFoundError:
        raise ImportFileError(
            f"the robot {name!r} is part of the package example-robot-data, which is not installed: "
            f"{pip_install('demo')}"
        ) from None
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.urdf"))}
    wanted = name.removesuffix(".urdf")
    found = [path for path in files if f"/{path}".endswith((f"/{wanted}.urdf", f"/{wanted}_robot.urdf"))]
    exact = [path for path in found if path.endswith(f"{wanted}.urdf")]
    if len(exact or found) != 1:
        if found:
            raise ImportFileError(f"{name!r} matches several files of example-robot-data: {', '.join(found)}; name one")
        known = sorted({path.rpartition("/")[2].removesuffix(".urdf").removesuffix("_robot") for path in files})
        raise ImportFileError(f"example-robot-data has no robot {name!r}; {near(wanted, known)}")
    return files[(exact or found)[0]]
