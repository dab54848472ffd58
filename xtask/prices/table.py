"""The table of listed prices and windows, from two lists that others keep.

    table.py write FILE          writes the table as of today
    table.py check FILE          says what differs in a table that was written before
"""

import datetime
import sys
from importlib.metadata import version
from pathlib import Path

from merge import rows
from sources import Genai, Litellm

HEAD = """\
# Listed prices and windows of models that two lists have, by exact name: a price is here where they say the same of it.
# Written by `cargo xtask prices`; not to be edited by hand.
# as of {day}, from {versions}
# Dollars a million tokens, in the service's default tier. `above`: where a request's whole input is larger than so many
# tokens, all of it costs what follows. `window`: the tokens that it takes in, the smaller of what they say.
# `-`: the lists do not say it, or do not say the same.
# service\tmodel\twindow\tinput\toutput\tcached\twritten\tabove\tinput\toutput\tcached\twritten
"""
DAY = "# as of "


def head(day):
    versions = ", ".join(f"{name} {version(name)}" for name in ("genai-prices", "litellm"))
    return HEAD.format(day=day, versions=versions)


def table(day):
    lines = ["\t".join(row) for row in rows(Litellm(), Genai(day))]
    return head(day.isoformat()) + "".join(f"{line}\n" for line in lines)


def differences(old, new):
    """Lines that only one of two tables has; of their heads, the versions alone."""
    key = lambda line: tuple(line.split("\t")[:2])
    kept = lambda text: {key(line): line for line in text.splitlines() if not line.startswith("#")}
    old, new = kept(old), kept(new)
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was != now:
            yield f"- {was or 'not listed: ' + ' '.join(name)}\n+ {now or 'no longer listed'}"


def day_of(text):
    line = next(line for line in text.splitlines() if line.startswith(DAY))
    return datetime.date.fromisoformat(line[len(DAY) :].split(",")[0])


def check(path, newest):
    """A table is held to the lists as they were on its own day, or with the newest lists on this one."""
    old = path.read_text()
    day = datetime.date.today() if newest else day_of(old)
    found = list(differences(old, table(day)))
    print("\n".join(found) if found else "nothing differs")
    return 1 if found else 0


def main(words):
    match words:
        case ["write", path]:
            Path(path).write_text(table(datetime.date.today()))
            return 0
        case ["check", path]:
            return check(Path(path), newest=False)
        case ["check", path, "newest"]:
            return check(Path(path), newest=True)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
