"""What a callback means, and which callbacks are the same event."""
import base64
import re

from .body import is_number, project_of, read_body, text_of
from .reports import is_exact, is_plain_report, read_report, read_time
from .statuses import meaning_of

WORDS = ("activate", "deactivate", "consent", "delivery", "billing", "billed")


def normalise(vector):
    kind, clock = vector["kind"], vector["clock"]
    fields, problem, twice = read_body(vector["bodyBase64"])
    if fields is None:
        return {"type": "unrecognized", "problem": problem, **when(vector, None)}
    seconds, odd = read_time(fields, clock)
    odd = ["duplicate_key"] * twice + odd
    if kind not in ("status", None):
        event = subscription(fields) if kind == "subscription" else {"type": kind}
        is_premium = kind == "subscription" and event["type"] != "subscription.other"
        if isinstance(read_report(fields, None, clock), dict) and is_plain_report(fields) and not is_premium:
            event = {"type": "unrecognized", "problem": "kind_differs"}
        return {**event, **when(vector, seconds), **said_odd(odd)}
    report = read_report(fields, kind, clock)
    meaning = meaning_of(report, vector["networks"]) if isinstance(report, dict) else None
    if meaning is None:
        problem = report if isinstance(report, str) else "unknown_status"
        return {"type": "unrecognized", "problem": problem, **when(vector, seconds), **said_odd(odd)}
    odd = ["duplicate_key"] * twice + report["anomalies"]
    odd += ["unknown_word"] if meaning.get("failure", {}).get("cause") == "carrier_word" else []
    odd += ["carrier_number"] if is_carrier_number(report["word"], meaning) else []
    event = {"shape": report["shape"], "messageId": report["messageId"], **report["copied"], **meaning}
    return {**event, **when(vector, report["seconds"]), **said_odd(odd)}


def is_carrier_number(word, meaning):
    number = int(word) if re.fullmatch("[0-9]{1,15}", word) else None
    return number is not None and meaning.get("carrier") == "carrierA" and meaning.get("statusCode") != number


def said_odd(anomalies):
    return {"anomalies": sorted(anomalies)} if anomalies else {}


def when(vector, seconds):
    if seconds is not None:
        return {"timestamp": seconds, "timestampSource": "payload"}
    signed_at = vector.get("signedAt")
    return {"timestamp": signed_at, "timestampSource": "arrival" if signed_at is None else "signature"}


def subscription(fields):
    """The word stands in a field that nobody documents: the first likely one decides, or the only word there is."""
    types = [fields[name] for name in ("event", "type", "action") if text_of(fields, name).strip()]
    status = [fields["status"]] if text_of(fields, "status").strip() else []
    elsewhere = [text for text in fields.values() if is_known(text)]
    known = [text for text in status if is_known(text)] or (elsewhere if len(set(elsewhere)) == 1 else [])
    said = (types or known or status or [None])[0]
    if not is_known(said):
        return {"type": "subscription.other", **({} if said is None else {"word": said})}
    word = said.strip().lower()
    return {"type": "subscription." + ("billing" if word == "billed" else word)}


def is_known(text):
    return isinstance(text, str) and text.strip().lower() in WORDS


def same_event(earlier, later):
    """Whether a callback repeats an earlier one. Only the arrival tells equal bodies with nothing of their own apart."""
    keys = [identity(callback, callback["at"]) for callback in (earlier, later)]
    return keys[0] == keys[1] and (keys[0][-1] != "arrival" or abs(later["at"] - earlier["at"]) <= 300)


def time_of(callback, fields, clock):
    """What tells a body that is no report from an equal one: itself, the time of its signature, or its arrival."""
    nested = fields.get("statuses")
    ids = (fields.get("messageId"), nested.get("message_id") if isinstance(nested, dict) else None)
    if any(is_number(id) or (isinstance(id, str) and id.strip()) for id in ids):
        return None
    return None if read_time(fields, clock)[0] is not None else callback.get("signedAt", "arrival")


def identity(callback, clock):
    """Equal for two callbacks that are the same event, if they arrive in time."""
    fields, _, _ = read_body(callback["bodyBase64"])
    project = project_of(fields or {})
    # The value of an authKey is no part of the event: it changes in a rotation.
    body = re.sub(rb'("authKey"\s*:\s*)"(?:[^"\\]|\\.)*"', rb"\1", base64.b64decode(callback["bodyBase64"]))
    report = read_report(fields, callback["kind"], clock) if fields and callback["kind"] in ("status", None) else None
    if isinstance(report, dict) and meaning_of(report, {}) is not None:
        odd = report["anomalies"] or not is_exact(project or "")
        said = (report["messageId"], report["word"], report["code"], report["seconds"])
        return ("report", project, *said, body if odd else None)
    return ("body", project, body, time_of(callback, fields or {}, clock))
