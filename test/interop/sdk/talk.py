"""What the AEP Python SDK sees of our endpoint. One JSON line on stdout for each thing it saw; `sdk.test.ts` judges them.

Usage: talk.py <base> <token> <session of the service's own>
"""

import json
import sys
import threading
import time

from aep_sdk import ControlClient, ControlTarget, Emitter, NackError, http_sink, open_duplex, project_state, subscribe

base, token, ours = sys.argv[1:]
WAIT = 15


def saw(what, value):
    print(json.dumps({"saw": what, "value": value}), flush=True)


def wait(condition):
    deadline = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("waited too long")
        time.sleep(0.005)


class Reader:
    """A subscription and what it was given."""

    def __init__(self, **how):
        self.events = []
        self.comments = []
        self.errors = []
        self.subscription = subscribe(
            base,
            self.events.append,
            token=token,
            on_comment=self.comments.append,
            on_error=lambda error: self.errors.append(str(error)),
            backoff_initial_ms=20,
            **how,
        )

    def until(self, count):
        wait(lambda: len(self.events) >= count)
        return self.events

    def close(self):
        self.subscription.close()
        return self.subscription.positions()


def positions(events):
    return [[event.get("epoch", 0), event["seq"]] for event in events]


# Emitting over POST, reading over SSE, resuming from a position.
errors = []
session = Emitter("sdk-agent", "sdk-host", http_sink(base, token, errors.append)).session("sdk-session")
first = Reader(filter={"session": "sdk-session"})
wait(lambda: first.comments)
sent = [session.emit("session.started", {"client": {"name": "sdk"}})]
sent.append(session.emit("run.started", {"trigger": "user"}, run="r1"))
saw("live", first.until(2) == sent)
kept = first.close()
sent.append(session.emit("tool.requested", {"tool": {"name": "bash", "call_id": "c1"}}, run="r1", subject="bash"))
sent.append(session.emit("run.finished", {}, run="r1"))
second = Reader(filter={"session": "sdk-session"}, from_=kept)
saw("resumed", second.until(2) == sent[2:])
sent.append(session.emit("session.ended", {"reason": "normal"}))
saw("live behind the replay", second.until(3) == sent[2:])
second.close()
saw("emitter errors", errors)
saw("reader errors", first.errors + second.errors)

# Everything that is held, and the state it tells.
everything = Reader(from_="all")
wait(lambda: any(event.get("session") == ours and event["type"] == "run.finished" for event in everything.events))
mine = [event for event in everything.events if event.get("session") == ours]
saw("ours in order", positions(mine) == sorted(positions(mine)))
saw("ours", [event["type"] for event in mine])
state = project_state(everything.events)
saw("violations", state["violations"])
saw("runs of ours", [run["status"] for entry in state["sessions"] if entry["session"] == ours for run in entry["runs"]])
everything.close()

# A reader under a ceiling.
low = Reader(filter={"session": "sdk-low"}, capture="metadata")
wait(lambda: low.comments)
Emitter("sdk-agent", "sdk-host", http_sink(base, token, errors.append), capture="redacted").session("sdk-low").emit(
    "run.started", {"trigger": "user", "prompt": "hidden"}, run="r1"
)
saw("under a ceiling", [low.until(1)[0]["capture"], low.events[0]["data"]])
low.close()

# A session that takes commands, claimed over the socket, and a sender.
target = open_duplex(base, token=token)
target.send_json(
    {
        "type": "hello",
        "versions": ["0.1"],
        "role": "emitter",
        "identity": {"agent": "sdk-target", "instance": "sdk-host"},
        "capabilities": {"control": {"accepts": ["control.cancel"], "ack_window_ms": 10000}},
    }
)
saw("hello", target.recv_json()["versions"])
owned = Emitter("sdk-target", "sdk-host", target.send_json).session("sdk-owned")
owned.emit("session.started", {"client": {"name": "sdk"}})

# A reader on the socket: what is held, and what comes.
socket = open_duplex(base, token=token)
socket.send_json({"type": "hello", "versions": ["0.1"], "role": "consumer"})
socket.recv_json()
socket.send_json({"type": "subscribe", "id": "w", "filter": {"session": "sdk-owned"}, "from": "all"})
saw("subscribed", socket.recv_json())
said = [socket.recv_json()]
said.append(owned.emit("progress.status", {"text": "on"}))
saw("over the socket", [said[0]["type"], said[0]["seq"], socket.recv_json() == said[1]])
socket.close()

executed = []
handler = ControlTarget(owned, ["control.cancel"])


def serve():
    while True:
        frame = target.recv_json()
        if frame is None:
            return
        if "." in frame.get("type", ""):
            handler.handle(frame, executed.append)


threading.Thread(target=serve, daemon=True).start()

sender = ControlClient(base, agent="sdk-sender", host="sdk-host", token=token)
sender.connect()


def roster():
    return sorted([entry["session"], entry["agent"], entry.get("control")] for entry in sender.roster())


wait(lambda: any(entry[0] == "sdk-owned" for entry in roster()))
saw("roster", [entry for entry in roster() if entry[0] in ("sdk-owned", ours)])
ack = sender.send("control.cancel", "sdk-owned", data={"scope": "run"}, run="r1")
# The acceptance says that it will be tried, and comes first.
wait(lambda: executed)
saw("accepted", [ack["type"], ack["session"], ack["cause"] == executed[0]["id"]])


def refused(kind, name):
    try:
        sender.send(kind, name, data={"scope": "run"}, ack_window_ms=5000, retries=0)
        return "accepted"
    except NackError as nack:
        # A code that the SDK has no reason for stands before the endpoint's words.
        code = (nack.detail or "").split(": ")[0] if nack.reason == "invalid" else nack.reason
        return [code, nack.synthesized]


saw("not declared", refused("control.pause", "sdk-owned"))
saw("to nobody", refused("control.cancel", "sdk-nobody"))
target.close()
wait(lambda: all(entry[0] != "sdk-owned" for entry in roster()))
saw("claim after the end", "gone")
sender.close()
