"""What the words and codes of a delivery report mean: the service's tables, and how they are read together."""
import re


def failed(kind, cause):
    failure = {"kind": kind, "resend": cause in ("network_failure", "expired"), "cause": cause}
    return {"type": "message.failed", "failure": failure}


DELIVERED = {"type": "message.delivered"}
QUEUED = {"type": "message.queued", "scheduled": False}
CODES = {
    "accepted": (11, QUEUED),
    "unsupported_number": (12, failed("permanent", "unsupported_number")),
    "queued": (13, QUEUED),
    "scheduled": (14, {"type": "message.queued", "scheduled": True}),
    "device_ack": (15, DELIVERED),
    "read": (16, {"type": "message.read"}),
    "expired": (17, failed("transient", "expired")),
    "stopped_by_user": (18, failed("permanent", "stopped_by_user")),
    "stopped_by_admin": (19, failed("permanent", "stopped_by_admin")),
    "delivery_failure": (21, failed("permanent", "delivery_failure")),
    "insufficient_balance": (22, failed("permanent", "insufficient_balance")),
    "volume_limit": (23, failed("permanent", "volume_limit")),
}
BY_CODE = dict(CODES.values())
CARRIER_A = {
    "success": DELIVERED,
    "network_failure": failed("transient", "network_failure"),
    "delivery_impossible": failed("permanent", "delivery_impossible"),
    "absent_subscriber": failed("unreachable", "absent_subscriber"),
    "unknown_error": failed("permanent", "unknown_error"),
}
NUMBERS_OF_A = {0: "success", 1001: "network_failure", 6: "absent_subscriber", 27: "absent_subscriber"}
NUMBERS_OF_A |= dict.fromkeys([1, 5, 11, 13, 21, 31, 32, 34, 99], "delivery_impossible")
CARRIER_B = {"delivered": DELIVERED, "failed": failed("permanent", "failed")}
CHAT_APP = {**CARRIER_B, "sent": {"type": "message.sent"}, "read": {"type": "message.read"}}


def meaning_of(report, networks):
    """The type, carrier, code and failure of a report; None where no table has its word or its code."""
    word, is_chat = report["word"], report["shape"] == "chat-app"
    is_number = re.fullmatch("[0-9]{1,15}", word)
    network = None if is_chat else networks.get(report["copied"].get("network"))
    by_word = "carrierA" if word in CARRIER_A or is_number else "carrierB" if word in CARRIER_B else None
    carrier = None if is_chat else network or by_word
    of_table = CODES.get(word, (None, None))
    if is_chat:
        meaning = CHAT_APP.get(word) or of_table[1]
    elif carrier == "carrierB":
        meaning = CARRIER_B.get(word)
    elif carrier == "carrierA":
        word_of_a = NUMBERS_OF_A.get(int(word), "unknown_error") if is_number else word
        meaning = CARRIER_A.get(word_of_a) or of_table[1]
    else:
        meaning = of_table[1] or CHAT_APP.get(word)
    code = report["code"] if report["code"] in BY_CODE else None
    if meaning is not None and meaning is of_table[1] and not (is_chat and word in CHAT_APP):
        code = of_table[0]
    if meaning is None:
        meaning = BY_CODE.get(code)
    is_own = not is_chat and network != "carrierA" and (word if network else word.strip())
    if meaning is None and is_own:
        meaning = failed("permanent", "carrier_word")
    if meaning is None:
        return None
    found = {**meaning, **({"carrier": carrier} if carrier else {}), **({"statusCode": code} if code else {})}
    if "failure" in found:
        cause = found["failure"]["cause"]
        reason = report["reason"] or report["reasonCode"] or (word if cause == "carrier_word" else "")
        more = {"reason": reason, "code": report["reasonCode"]}
        found["failure"] = {**found["failure"], **{name: text for name, text in more.items() if text}}
    return found
