"""What is dispatched when, what is late, and what is the newest state: one message at a time, nothing in parallel."""
import math

from .body import read_body
from .events import identity
from .reports import read_report
from .statuses import meaning_of

STAGES = {"message.queued": 0, "message.sent": 1, "message.read": 4}
FAILED_FOR_NOW, FINAL = 2, 3
WAITS_FOR = {"message.delivered": "message.sent", "message.read": "message.delivered"}
NEVER = (-1,)


def play(vector):
    messages, dispatched = {}, []
    for number, arrival in enumerate(vector["arrivals"]):
        dispatch_due(messages, arrival["at"], dispatched)
        report = place(number, arrival)
        message = messages.setdefault(report["messageId"], {"seen": {}, "waiting": [], "dispatched": NEVER})
        if report["identity"] not in message["seen"]:
            take(message, report, arrival["at"], vector["gapSeconds"])
        dispatch_due(messages, arrival["at"], dispatched)
    dispatch_due(messages, math.inf, dispatched)
    return {"dispatched": dispatched, "states": [state(name, message) for name, message in messages.items()]}


def place(number, arrival):
    """Where a report stands in the order of its message."""
    fields, _, _ = read_body(arrival["bodyBase64"])
    report = read_report(fields, "status", arrival["at"])
    meaning = meaning_of(report, {})
    known = report["seconds"] if report["seconds"] is not None else arrival.get("signedAt")
    transient = meaning.get("failure", {}).get("kind") == "transient"
    stage = FAILED_FOR_NOW if transient else STAGES.get(meaning["type"], FINAL)
    # The time of a chat-app report is not that of the event, so the life of the message comes first.
    is_chat = report["shape"] == "chat-app"
    order = (0, stage, known or 0, number) if is_chat else (known or math.floor(arrival["at"]), stage, 0, number)
    key = identity({"kind": "status", "bodyBase64": arrival["bodyBase64"]}, arrival["at"])
    step = meaning["type"] if is_chat else None
    standing = {"number": number, "identity": key, "messageId": report["messageId"], "step": step, "order": order}
    return {**standing, "final": stage >= FAILED_FOR_NOW, "awaits": WAITS_FOR.get(step)}


def take(message, report, now, gap):
    # Time and stage: of two reports that agree in both, neither is late.
    report["late"] = report["order"][:2] < message["dispatched"][:2]
    seen = {other["step"] for other in message["seen"].values()}
    waits = report["awaits"] is not None and report["awaits"] not in seen and not report["late"]
    report["due"] = now + gap if waits else now
    message["seen"][report["identity"]] = report
    for other in message["waiting"]:
        if report["step"] is not None and other["awaits"] == report["step"]:
            other["due"] = min(other["due"], now)
    message["waiting"] = sorted([*message["waiting"], report], key=lambda one: one["order"])


def dispatch_due(messages, now, dispatched):
    """Whatever is due by now, the earliest first; of one message only the first can be."""
    while True:
        firsts = [message for message in messages.values() if message["waiting"]]
        due = [message for message in firsts if message["waiting"][0]["due"] <= now]
        if not due:
            return
        message = min(due, key=lambda one: one["waiting"][0]["due"])
        report = message["waiting"].pop(0)
        dispatched.append({"arrival": report["number"], "at": report["due"], "late": report["late"]})
        for other in message["waiting"]:
            other["due"] = max(other["due"], report["due"])
        message["dispatched"] = max(message["dispatched"], report["order"])


def state(name, message):
    reports = sorted(message["seen"].values(), key=lambda one: one["order"])
    finals = [report["number"] for report in reports if report["final"]]
    return {"messageId": name, "newest": [reports[-1]["number"]], "finals": finals}
