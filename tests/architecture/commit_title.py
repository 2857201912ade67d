"""Hook of pre-commit: refuse the title of a commit that is no short imperative."""

import re
import sys
from pathlib import Path

LONGEST = 72


def fault(title: str) -> str:
    """Return why a title is refused; an empty text if it is not."""
    if title.startswith(("Merge ", "Revert ", "fixup! ", "squash! ")):
        return ""
    if not 0 < len(title) <= LONGEST:
        return f"the title has {len(title)} characters; give 1 to {LONGEST}"
    if title.endswith(".") or not re.match(r"[A-Z][a-z]+ ", title):
        return "the title is no imperative; write 'Project contact rows island by island', without a full stop"
    if re.match(r"[A-Z][a-z]+(?:ed|ing) ", title):
        return "the title opens with a past or continuous form; write an imperative, such as 'Mend' or 'Add'"
    return ""


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    if why := fault(lines[0].strip() if lines else ""):
        sys.exit(why)
