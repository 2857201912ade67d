"""Makes the picture at the top of the README and of the site: python docs/figures/opening.py."""

import io
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import kane

HERE = Path(__file__).parent


def bicycle():
    """A bicycle."""
    dyn = kane.build(kane.formulate(kane.library.whipple_bicycle()))
    turned = {"heave": -0.3, "steer": 0.4, "yaw": 0.3}
    start = kane.assemble(dyn, q=turned)
    return dyn, start.q


def platform():
    """A Stewart platform."""
    dyn = kane.build(kane.formulate(kane.library.stewart_platform()))
    return dyn, kane.assemble(dyn).q


def spacecraft():
    """Five bodies joined by gimbals."""
    dyn = kane.build(kane.formulate(kane.library.spacecraft_tree()))
    return dyn, None


def governor():
    """A flyball governor."""
    dyn = kane.build(kane.formulate(kane.library.flyball_governor()))
    return dyn, kane.assemble(dyn, q={"q2": 1.0472, "q3": 1.0472, "q4": 0.5}).q


def drawn(dyn, q):
    """The picture of a state as an array, without white margins."""
    written = io.BytesIO()
    kane.draw3d(dyn, q=q).savefig(written, dpi=150)
    written.seek(0)
    pixels = np.asarray(Image.open(written).convert("RGB"))
    rows, columns = (np.flatnonzero((pixels < 250).any(axis=(k, 2))) for k in (1, 0))
    return pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def main():
    """Four mechanisms side by side."""
    figure, axes = plt.subplots(1, 4, figsize=(10, 2.4), layout="constrained")
    for ax, model in zip(axes, (bicycle, platform, governor, spacecraft)):
        ax.imshow(drawn(*model()))
        ax.axis("off")
    figure.savefig(HERE / "opening.png", dpi=110)


if __name__ == "__main__":
    main()
