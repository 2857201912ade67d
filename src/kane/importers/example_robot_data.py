"""Robots of the package example-robot-data, by name; it holds files only and cannot be imported."""

from __future__ import annotations

from pathlib import Path

from kane.errors import ImportFileError, pip_install, shown
from kane.model.checks import near

FOLDER = "cmeel.prefix/share/example-robot-data/robots"


def example_robot(name: str) -> Path:
    """The URDF of a robot of the package example-robot-data (extra ``demo``), for ``load_urdf``.

    Args:
        name: the file's name, with or without ".urdf" and with or without "_robot" before it: "ur5", "panda",
            "talos_reduced"; with folders before it where several files have that name.

    Raises:
        ImportFileError: the package is not installed, or has no such robot, or several; the message names what it has.
    """
    from importlib.metadata import PackageNotFoundError, distribution  # here, because it takes 15 milliseconds

    if not isinstance(name, str):
        raise ImportFileError(f"{shown(name)} is no name of a robot; give one such as 'ur5'")
    try:
        folder = Path(str(distribution("example-robot-data").locate_file(FOLDER)))
    except PackageNotFoundError:
        raise ImportFileError(
            f"the robot {name!r} is looked for in the package example-robot-data, which is not installed: "
            f"{pip_install('demo')}"
        ) from None
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.urdf"))}
    wanted = name.removesuffix(".urdf")
    found = [path for path in files if f"/{path}".endswith((f"/{wanted}.urdf", f"/{wanted}_robot.urdf"))]
    exact = [path for path in found if path.endswith(f"{wanted}.urdf")]
    if len(exact or found) != 1:
        if found:
            raise ImportFileError(f"{name!r} is several files of example-robot-data: {', '.join(found)}; name one")
        known = sorted({path.rpartition("/")[2].removesuffix(".urdf").removesuffix("_robot") for path in files})
        raise ImportFileError(f"example-robot-data has no robot {name!r}; {near(wanted, known)}")
    return files[(exact or found)[0]]
