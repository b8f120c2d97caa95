"""Follows one session for as long as it is let, by the AEP Python SDK's own means over lost connections. One JSON line on
stdout for each thing it saw; `sdk.test.ts` judges them, and kills the service meanwhile.

Usage: follow.py <base> <token> <session>
"""

import json
import sys

from aep_sdk import subscribe

base, token, session = sys.argv[1:]


def saw(what, value):
    print(json.dumps({"saw": what, "value": value}), flush=True)


def comment(text):
    saw("exhausted" if text.startswith("replay-exhausted") else "open", text)


subscribe(
    base,
    lambda event: saw("event", event["id"]),
    filter={"session": session},
    token=token,
    on_comment=comment,
    on_error=lambda error: saw("error", type(error).__name__),
    backoff_initial_ms=20,
    backoff_max_ms=200,
).join()
