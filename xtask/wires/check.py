"""Holds requests to the official SDKs' own request types. Each line of stdin is one: its name, its dialect, the service
that it is for and its body. Each refusal is printed; the exit code is 1 where there is one.
"""

import json
import sys

from services import shape_refusals


def main():
    count, refused = 0, False
    for line in sys.stdin:
        request = json.loads(line)
        count += 1
        for words in shape_refusals(request["service"], request["dialect"], request["body"]):
            refused = True
            print(f"{request['name']}: {words}")
    print(f"{count} requests were held to the SDKs' types")
    sys.exit(1 if refused else 0)


if __name__ == "__main__":
    main()
