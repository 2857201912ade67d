"""The documentation site: its links, its reference and its checks. `make docs` builds it, with warnings as errors."""

import re
import sys
from importlib import import_module

import pytest

from docs.site.outputs import blocks_of

MOST_USED = 60  # public names that at least have an example


@pytest.fixture(scope="module")
def site(root):
    """Function that imports a module of docs/site, as its programs import each other."""
    sys.path.insert(0, str(root / "docs/site"))
    yield import_module
    sys.path.remove(str(root / "docs/site"))


@pytest.fixture
def stage(site, tmp_path):
    """An empty stage."""
    return site("staged_pages").Stage(tmp_path)


def test_every_link_of_a_page_leads_to_a_file(stage):
    stage.copy_pages()
    assert (stage.folder / "start.md").exists()
    assert all((stage.folder / path).exists() for path in ("contacts.md", "readme.md", "figures/opening.png"))


@pytest.mark.parametrize(
    ("text", "page", "written"),
    [
        ("[a](../README.md#install)", "docs/start.md", "[a](readme.md#install)"),
        ("[a](../examples/ur5.py)", "docs/start.md", "[a](examples/ur5.md)"),
        ("[a](../../src/kane/errors.py)", "docs/course/index.md", "[a](../sources/src/kane/errors.py.md)"),
        ("![a [b]](../figures/opening.png)", "docs/course/index.md", "![a [b]](../figures/opening.png)"),
        ("[a](live/b.html)", "docs/start.md", '<a href="live/b.html">a</a>'),
        ("[a](#here) [b](https://c.org)", "docs/start.md", "[a](#here) [b](https://c.org)"),
    ],
)
def test_links_are_written_for_the_site(stage, text, page, written):
    assert stage.with_links(text, page) == written


def test_a_link_that_leads_nowhere_is_an_error(stage):
    with pytest.raises(ValueError, match=r"docs/start\.md links to nowhere\.md"):
        stage.with_links("[a](nowhere.md)", "docs/start.md")


def test_links_in_code_are_left_as_they_are(site):
    staged = site("staged_pages")
    assert staged.outside_of_code("a\n```python\na\n```\na\n", str.upper) == "A\n```python\na\n```\nA\n"
    assert staged.with_one_title("# a\n## b\n# c\n## d\n") == "# a\n## b\n## c\n### d\n"


def test_every_heading_of_the_reference_is_a_public_name_with_an_example(root, site):
    names = site("reference").public_names()
    examples = 0
    for page, members in names.items():
        parts = re.split(r"^## (.+)$", (root / f"docs/reference/{page}.md").read_text("utf-8"), flags=re.M)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True):
            assert heading in members
            assert next(blocks_of(text), None), f"{page}: {heading} has no example"
            examples += 1
    assert examples >= MOST_USED


def test_every_public_name_has_an_entry_in_the_reference(site):
    import kane

    found = {name for members in site("reference").public_names().values() for name in members}
    assert set(kane.__all__) - found == {"haptics", "library", "__version__"}


def test_every_model_of_the_library_is_in_the_gallery(root, site):
    import kane

    sys.path.append(str(root / "examples"))
    models = set(site("live_pages").MODELS)
    sys.path.remove(str(root / "examples"))
    changes = {"lock_steering", "platform_wheels", "stanford_arm_feedback", "tanner_speeds"}  # of models, no models
    assert set(kane.library.__all__) - changes == models


def test_docstrings_become_markdown(site):
    text = "Return F*_r < 1.\n\n    a * b\n\nArgs:\n    x, y: of ``z*``\n        in m.\n\nRaises:\n    ModelError: bad."
    assert site("docstrings").markdown_of(text) == (
        "Return F\\*_r \\< 1.\n\n    a * b\n\n**Arguments**\n\n- `x, y`: of ``z*`` in m.\n\n"
        "**Errors**\n\n- `ModelError`: bad."
    )


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.org/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.org/a.css">',
        "<style>a { background: url(https://b.org/c.png) }</style>",
    ],
)
def test_a_request_to_another_server_is_seen(site, tmp_path, text):
    (tmp_path / "a.html").write_text(text)
    assert len(site("whole_site").foreign_requests(tmp_path)) == 1


def test_html_of_the_theme_is_corrected(site, tmp_path):
    (tmp_path / "a.html").write_text('<p class="caption" role="heading">Learn</p><pre>code</pre>')
    site("whole_site").correct_html(tmp_path)
    corrected = '<p class="caption" role="heading" aria-level="2">Learn</p><pre tabindex="0">code</pre>'
    assert (tmp_path / "a.html").read_text() == corrected


def test_a_link_of_the_site_that_leads_nowhere_is_seen(site, tmp_path):
    (tmp_path / "a.html").write_text('<a href="a.html#b">x</a> <a href="https://b.org">y</a> <img src="c.png">')
    assert site("whole_site").foreign_requests(tmp_path) == []
    assert site("whole_site").broken_links(tmp_path) == ["a.html links to c.png, which does not exist"]
