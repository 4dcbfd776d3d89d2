"""The two delivery callbacks, SMS and chat-app, as one report."""
import re

from .body import ABSENT, code_of, is_number, text_of, word_of


def read_time(fields, clock):
    """The payload's own time, where it can be used, and what is odd about it."""
    value = fields.get("timestamp", ABSENT)
    if value is ABSENT:
        return None, []
    if isinstance(value, str) and re.fullmatch("[0-9]{1,16}", value):
        value = int(value)
    if not is_number(value) or value != int(value):
        return None, ["timestamp_unreadable"]
    if 946684800 <= value <= clock + 86400:
        return int(value), []
    in_range = 946684800 <= value / 1000 <= clock + 86400
    return None, ["timestamp_in_milliseconds" if in_range else "timestamp_out_of_range"]


def read_report(fields, kind, clock):
    """The fields of a delivery report, or why it is none."""
    is_chat = "statuses" in fields
    if is_chat and isinstance(fields["statuses"], list):
        return "several_statuses"
    if kind is None and not is_chat and "messageId" not in fields:
        return "unknown_shape"
    inner = fields["statuses"] if is_chat else fields
    inner = inner if isinstance(inner, dict) else {}
    message_id = word_of(inner, "message_id" if is_chat else "messageId")
    if not message_id.strip():
        return "no_message_id"
    word, code = word_of(inner, "status"), code_of(fields)
    if not word and code is None:
        return "no_status"
    seconds, odd = read_time(fields, clock)
    copied = {"channel": text_of(fields, "channel"), "status": word}
    copied |= {"recipient": text_of(inner, "recipient")} if is_chat else {"network": text_of(fields, "network")}
    return {
        "shape": "chat-app" if is_chat else "sms",
        "messageId": message_id,
        "copied": {name: text for name, text in copied.items() if text},
        "word": word,
        "code": code,
        "reason": text_of(inner, "error" if is_chat else "description"),
        "reasonCode": "" if is_chat else word_of(fields, "status_code"),
        "seconds": seconds,
        "anomalies": odd if is_exact(message_id + word) else [*odd, "inexact_id"],
    }


def is_plain_report(fields):
    """Whether a body that reads as a report can be nothing else, at any URL."""
    known = ("project", "messageId", "channel", "status", "statusCode", "network", "type", "timestamp", "authKey")
    is_bare = all(name in (*known, "description", "status_code") for name in fields)
    return "statuses" in fields or fields.get("type") == "bulkDelivery" or (fields.get("channel") == "sms" and is_bare)


def is_exact(text):
    """Bytes that are no UTF-8, and halves of surrogate pairs, may look the same here and be different."""
    return not re.search("[\ufffd\ud800-\udfff]", text)
