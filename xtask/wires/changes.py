"""What changed in the SDKs' request types. Without arguments the types of this interpreter's SDKs are described, as JSON;
with the files of two such descriptions, what came, went and changed between them is printed.
"""

import importlib.metadata
import json
import sys

from routes import DIALECTS, request_of
from shapes import records_below

PACKAGES = ("openai", "anthropic", "google-genai")


def described():
    records = {}
    for dialect in DIALECTS:
        records_below(request_of(dialect), records)
    return {"versions": {name: importlib.metadata.version(name) for name in PACKAGES}, "records": records}


def changes(old, new):
    """A line for each type and field that is not the same any more."""
    for name in sorted(old.keys() | new.keys()):
        short = f"{name.partition('.')[0]}: {name.rpartition('.')[2]}"
        if name not in new:
            yield f"- {short}"
        elif name not in old:
            yield f"+ {short} ({', '.join(sorted(new[name]))})"
        else:
            yield from changed_fields(short, old[name], new[name])


def changed_fields(name, old, new):
    for field in sorted(old.keys() | new.keys()):
        if field not in new:
            yield f"- {name}.{field}"
        elif field not in old:
            yield f"+ {name}.{field}: {new[field]}"
        elif old[field] != new[field]:
            yield f"~ {name}.{field}: {difference(old[field], new[field])}"


def difference(old, new):
    """The members of a union that went and came; the whole, where it is none."""
    before, after = set(old.split(" | ")), set(new.split(" | "))
    went = [f"without {word}" for word in sorted(before - after)]
    came = [f"with {word}" for word in sorted(after - before)]
    return ", ".join(went + came)


def main(files):
    if not files:
        json.dump(described(), sys.stdout)
        return
    old, new = (json.load(open(file, encoding="utf-8")) for file in files)
    for package in PACKAGES:
        print(f"{package} {old['versions'][package]} -> {new['versions'][package]}")
    # Some types stand in several modules.
    lines = dict.fromkeys(changes(old["records"], new["records"]))
    print("\n".join(lines) or "the request types are the same")


if __name__ == "__main__":
    main(sys.argv[1:])
