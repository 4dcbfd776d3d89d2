"""What can be read of a body: its JSON object, and fields that may be of any type."""
import base64
import json
import math
import re

ABSENT = object()
# A name of these that stands twice changes what a callback means.
DECIDING = ("messageId", "status", "statuses", "project", "timestamp")


def read_body(body_base64):
    """The fields of the object, why there are none, and whether one of them that decides something stands twice."""
    sent = base64.b64decode(body_base64)
    if not sent:
        return None, "empty_body", False
    text = sent.decode("utf-8", "replace").removeprefix("\ufeff")
    depth = deepest = 0
    for mark in re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.S):
        depth += (mark in "[{") - (mark in "]}")
        deepest = max(deepest, depth)
    if deepest > 64:
        return None, "too_deep", False
    objects = []
    value = read_json(text, lambda pairs: objects.append(pairs) or dict(pairs))
    if value is ABSENT:
        return None, "not_json", False
    if isinstance(value, str) and isinstance(read_json(value), dict):
        return None, "double_encoded", False
    if not isinstance(value, dict):
        return None, "not_an_object", False
    # The outermost object ends last.
    names = [name for name, _ in objects[-1]]
    return value, None, any(names.count(name) > 1 for name in DECIDING)


def read_json(text, object_pairs_hook=None):
    try:
        # `int` throws for NaN and Infinity, which Python takes and JSON does not have.
        return json.loads(text, parse_constant=int, object_pairs_hook=object_pairs_hook)
    except ValueError:
        return ABSENT


def project_of(fields):
    return text_of(fields, "project") or None


def text_of(fields, name):
    return fields[name] if isinstance(fields.get(name), str) else ""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def word_of(fields, name):
    return str(fields[name]) if is_number(fields.get(name)) else text_of(fields, name)


def code_of(fields):
    code = fields.get("statusCode")
    if isinstance(code, str) and re.fullmatch("[0-9]{1,15}", code):
        return int(code)
    return int(code) if is_number(code) and code == int(code) else None
