"""One name, one meaning: no two classes bear one name."""

import ast
from collections import defaultdict


def classes_named_alike(sources):
    """The names of classes that are defined in more than one place, with the files."""
    found = defaultdict(list)
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(source.path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_two_classes_bear_one_name(sources):
    assert classes_named_alike(sources) == {}


def test_two_classes_of_one_name_are_seen(source_of):
    files = [source_of("model/a.py", "class Row: ..."), source_of("expression/b.py", "class Row: ...")]
    assert classes_named_alike(files) == {"Row": ["model/a.py", "expression/b.py"]}
