"""The meaning of a delivery report's words and codes. The words come from the vectors, and the rules are here."""
import json
import pathlib
import re

FILE = pathlib.Path(__file__).resolve().parents[1] / "normalisation.json"
VECTORS = json.loads(FILE.read_text("utf-8"))["vectors"]


def words_of(pattern):
    """For each vector with such a name: the matched texts, and the meaning that it expects."""
    for vector in VECTORS:
        match = re.fullmatch(pattern, vector["name"])
        if match:
            meaning = {name: field for name, field in vector["expected"].items() if name in ("type", "scheduled", "failure")}
            if "failure" in meaning:
                meaning["failure"] = {name: meaning["failure"][name] for name in ("kind", "resend", "cause")}
            yield match.groups(), meaning


CODES = {word: (int(code), meaning) for (word, code), meaning in words_of(r"the word (\w+) of code (\d+)")}
BY_CODE = dict(CODES.values())
CARRIERS = {}
for (letter, word), meaning in words_of(r"carrier ([A-Z]): (\w+)"):
    CARRIERS.setdefault(f"carrier{letter}", {})[word] = meaning
NUMBERS_OF_A = {int(number): meaning for (number,), meaning in words_of(r"carrier A: its number (\d+), as text")}
CHAT_APP = {word: meaning for (word,), meaning in words_of(r"chat-app: (\w+)(?:, no error)?")}


def meaning_of(report, networks):
    """The type, carrier, code and failure of a report; None where no table has its word or its code."""
    word, is_chat = report["word"], report["shape"] == "chat-app"
    is_number = re.fullmatch("[0-9]{1,15}", word)
    network = None if is_chat else networks.get(report["copied"].get("network"))
    speakers = [carrier for carrier, words in CARRIERS.items() if word in words]
    number = int(word) if is_number else None
    # The service maps carrier A's numbers to words itself, so a number is a code of its own table.
    is_code = number in BY_CODE and (network != "carrierA" or number == report["code"])
    by_word = "carrierA" if is_number and not is_code else speakers[0] if len(speakers) == 1 else None
    carrier = None if is_chat else network or by_word
    of_table = CODES.get(word, (None, None))
    if is_code:
        meaning = BY_CODE[number]
    elif is_chat:
        meaning = CHAT_APP.get(word) or of_table[1]
    elif carrier == "carrierA":
        numbered = NUMBERS_OF_A.get(int(word), CARRIERS[carrier]["unknown_error"]) if is_number else None
        meaning = numbered or CARRIERS[carrier].get(word) or of_table[1]
    elif carrier:
        meaning = CARRIERS[carrier].get(word)
    else:
        meaning = of_table[1] or CHAT_APP.get(word)
    code = number if is_code else report["code"] if report["code"] in BY_CODE else None
    if meaning is not None and meaning is of_table[1] and not (is_chat and word in CHAT_APP):
        code = of_table[0]
    if meaning is None:
        meaning = BY_CODE.get(code)
    is_own = not is_chat and network != "carrierA" and (word if network else word.strip())
    if meaning is None and is_own:
        failure = {"kind": "permanent", "resend": False, "cause": "carrier_word"}
        meaning = {"type": "message.failed", "failure": failure}
    if meaning is None:
        return None
    found = {**meaning, **({"carrier": carrier} if carrier else {}), **({"statusCode": code} if code else {})}
    if "failure" in found:
        cause = found["failure"]["cause"]
        reason = report["reason"] or report["reasonCode"] or (word if cause == "carrier_word" else "")
        more = {"reason": reason, "code": report["reasonCode"]}
        found["failure"] = {**found["failure"], **{name: text for name, text in more.items() if text}}
    return found
