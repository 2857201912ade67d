"""Plain English: bounds on flagged sentences, on words that the field does not use, and on the length of pages."""

import math
import re
import subprocess
import sys

import pytest

from benchmarks.english import ROOT, files, flags, sentences_of, texts

MOST_FLAGGED = 0.08  # fraction of sentences
MOST_WHAT = 2e-3  # of all words
MOST_WORDS = {"ARCHITECTURE.md": 900, "docs/decisions/*.md": 600}
MOST_WORDS_OF_ALL = {"docs/decisions/*.md": 12_000}
LONGEST_TITLE = 72  # characters of the title of a commit
# Words of former versions, each with the field's term (docs/notation.md, "Terms").
FORMER = {
    r"in numbers": "numerically",
    r"settl(?:e|es|ed|ing)": "project, projection",
    r"march(?:es)?": "integrator state",
    r"excursions?": "transition",
    r"in force": "active",
    r"come(?:s)? and go(?:es)?": "intermittent",
    r"candidates? (?:for )?contacts?|contact candidates?": "intermittent constraint",
    r"quickly": "by tree response",
    r"nearness": "singularity monitor",
    r"retrace[sd]?": "replay",
    r"stepp(?:ed|ing) over|steps over": "Moreau-Jean time step",
    r"beginnings": "shooting nodes",
    r"obeys?": "apply a command",
    r"foresee[ns]?|foresaw": "predict",
    r"so-manieth": "a number",
    r"on the graph": "symbolically",
}


def checked_files():
    """Paths of the pages and of the source that this test reads."""
    roots = [ROOT / name for name in ("src", "docs", "examples", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    yield from files(roots)


@pytest.fixture(scope="module")
def written():
    """Path, line and text of each docstring, message, comment and paragraph."""
    return [(path.relative_to(ROOT), line, text) for path in checked_files() for line, text in texts(path)]


def test_few_sentences_are_flagged(written):
    found = [s for path, line, text in written for s in sentences_of(f"{path}:{line}", text)]
    assert len(found) > 8000
    assert sum(bool(s.flags) for s in found) <= MOST_FLAGGED * len(found), "python -m benchmarks.english lists them"


def test_what_is_rare(written):
    """The word often replaces a noun that the writer did not look for."""
    words = [word.lower() for _, _, text in written for word in re.findall(r"[A-Za-z']+", without_names(text))]
    assert words.count("what") <= MOST_WHAT * len(words)


def without_names(text):
    """Return a text without names in backticks, quotations and links."""
    return re.sub(r"`+[^`]*`+|\"[^\"]*\"|\([^)]*\.md[^)]*\)", " ", text)


def former_words(text):
    """Return the former words in a text, with the terms in their place."""
    plain = without_names(text)
    return [f"{m.group()} ({term})" for word, term in FORMER.items() if (m := re.search(rf"\b(?:{word})\b", plain))]


def test_no_docstring_uses_a_former_word(written):
    code = [(f"{path}:{line}", text) for path, line, text in written if path.suffix == ".py"]
    assert [f"{place}: {word}" for place, text in code for word in former_words(text)] == []


@pytest.mark.parametrize("pattern", MOST_WORDS)
def test_pages_are_short(pattern):
    counts = {path.name: len(path.read_text(encoding="utf-8").split()) for path in ROOT.glob(pattern)}
    assert counts
    assert {name: n for name, n in counts.items() if n > MOST_WORDS[pattern]} == {}
    assert sum(counts.values()) <= MOST_WORDS_OF_ALL.get(pattern, math.inf)


@pytest.mark.parametrize(
    "text",
    [
        "Return what the contacts exert on the body.",
        "The rows of those that slide are left out.",
        "Of the modes there are none in this model.",
        "The run goes on with so many steps as fit.",
        "Word " * 30,
    ],
)
def test_an_unclear_sentence_is_flagged(text):
    assert flags(text.strip())


@pytest.mark.parametrize("text", ["Return the forces of the contacts.", "Course of the run, so far as it is known."])
def test_a_clear_sentence_is_not_flagged(text):
    assert not flags(text)


def test_a_former_word_is_seen():
    assert former_words("Settle the state, which is found in numbers.".lower())
    assert not former_words("Project the state; ``settle`` is a name.")


@pytest.mark.parametrize(
    ("title", "code"),
    [("Project contact rows island by island", 0), ("x" * (LONGEST_TITLE + 1), 1), ("Fixed the thing.", 1), ("", 1)],
)
def test_the_hook_judges_titles_of_commits(tmp_path, title, code):
    message = tmp_path / "message"
    message.write_text(f"{title}\n\nThe reason.\n")
    hook = [sys.executable, str(ROOT / "tests/architecture/commit_title.py"), str(message)]
    assert subprocess.run(hook, capture_output=True, check=False).returncode == code
