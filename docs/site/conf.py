"""Settings of the documentation site for Sphinx; ``docs/site/build.py`` stages the sources and runs it."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

import kane

project = "kane"
author = "The kane authors"
project_copyright = author
release = version = kane.__version__
extensions = ["myst_parser", "sphinx_copybutton"]
html_theme = "furo"
html_title = f"kane {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
myst_enable_extensions = ["dollarmath", "attrs_block"]
myst_heading_anchors = 4
smartquotes = False  # quotes are often those of Python
myst_dmath_double_inline = True
copybutton_exclude = ".linenos, .gp, .go"
toc_object_entries = False
python_use_unqualified_type_names = True


def _mathml(display: str) -> Any:
    """Return the function that writes a formula as MathML, which browsers draw without scripts or fonts of ours."""

    def visit(self: Any, node: nodes.Element) -> None:
        formula = convert(node.astext(), display=display)
        self.body.append(formula if display == "inline" else f'<div class="formula" tabindex="0">{formula}</div>')
        raise nodes.SkipNode

    return visit


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_mathml("inline"), None), (_mathml("block"), None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
