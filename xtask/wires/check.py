"""Holds requests to the official SDKs' own request types. Each line of stdin is one: its name, its dialect, the service
that it is for and its body. Where it names its model as well, it is also held to what the service is known to refuse.
Each refusal is printed; the exit code is 1 where there is one. With `--each` every line is answered at once, by a line
with the list of its refusals.
"""

import json
import sys

from judge import judge
from services import shape_refusals


def refusals(request):
    service, dialect, body = request["service"], request["dialect"], request["body"]
    if "model" in request:
        return [verdict.words for verdict in judge(service, dialect, request["model"], body)]
    return shape_refusals(service, dialect, body)


def answer_each():
    for line in sys.stdin:
        print(json.dumps(refusals(json.loads(line))), flush=True)


def check_all():
    count, refused = 0, False
    for line in sys.stdin:
        request = json.loads(line)
        count += 1
        for words in refusals(request):
            refused = True
            print(f"{request['name']}: {words}")
    print(f"{count} requests were held to the SDKs' types")
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    answer_each() if sys.argv[1:] == ["--each"] else check_all()
