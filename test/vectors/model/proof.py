"""Who is believed: the signature header, the authKey, and which of them is enough."""
import base64
import hashlib
import hmac
import math
import re

from .body import ABSENT, project_of, read_body


def sign(secret, time, body_base64):
    message = f"{time}.".encode() + base64.b64decode(body_base64)
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


def prove(vector):
    headers = [(name.lower(), base64.b64decode(value).decode("latin-1")) for name, value in vector["headers"]]
    signature = read_signature([value for name, value in headers if name == "x-service-signature"])
    sent = read_body(vector["bodyBase64"])[0]
    # JSON was not compressed, whatever the header says.
    encoded = sent is None and any(name == "content-encoding" and value != "identity" for name, value in headers)
    fields = sent or {}
    named, key = project_of(fields), fields.get("authKey", ABSENT)
    pairs = [pair for pair in vector["pairs"] if "project" not in pair or named in (None, pair["project"])]
    if not pairs:
        return {"verdict": "refused", "reason": "project_unknown"}
    stale = isinstance(signature, tuple) and abs(math.floor(vector["clock"]) - int(signature[0])) > 300
    held = {}
    for pair in pairs:
        signed, keyed = held.get(pair.get("project"), (False, False))
        if isinstance(signature, tuple) and "signingSecret" in pair:
            right = sign(pair["signingSecret"], signature[0], vector["bodyBase64"])
            signed = signed or any(hmac.compare_digest(right, digest) for digest in signature[1])
        if isinstance(key, str) and key and "authKey" in pair:
            # Half a surrogate pair is no UTF-8, and no key.
            sent = key.encode("utf-8", "surrogatepass")
            keyed = keyed or hmac.compare_digest(sent, pair["authKey"].encode())
        held[pair.get("project")] = (signed, keyed)
    proved = [owner for owner, proofs in held.items() if not stale and is_enough(vector["policy"], *proofs)]
    if len(proved) > 1:
        return {"verdict": "refused", "reason": "project_ambiguous"}
    if not proved:
        anything = [any(proofs) for proofs in zip(*held.values())]
        reason = "content_encoding" if encoded else why_not(vector["policy"], signature, stale, key, *anything)
        return {"verdict": "refused", "reason": reason}
    signed, keyed = held[proved[0]]
    proof = "both" if signed and keyed else "signature" if signed else "authKey"
    # Without a secret there is nothing to compare a signature with.
    compared = any("signingSecret" in pair for pair in pairs if pair.get("project") == proved[0])
    ignored = {"reported": "signature_ignored"} if signature is not None and compared and not signed else {}
    return {"verdict": "accepted", "proof": proof, "project": proved[0] or named, **ignored}


def is_enough(policy, signed, keyed):
    return {"either": signed or keyed, "signature": signed, "authKey": keyed, "both": signed and keyed}[policy]


def why_not(policy, signature, stale, key, signed, keyed):
    if stale:
        return "signature_stale"
    key_says = "auth_key_mismatch" if isinstance(key, str) and key else "auth_key_malformed"
    if policy == "authKey" or (policy == "both" and signed):
        return "auth_key_missing" if key is ABSENT else key_says
    if signature is None:
        if keyed:
            return "signature_required"
        return key_says if policy == "either" and key is not ABSENT else "signature_missing"
    return signature if isinstance(signature, str) else "signature_mismatch"


def read_signature(values):
    """The time and the digests; or what is wrong; or None where there is no header."""
    if len(values) != 1:
        return "signature_malformed" if values else None
    times, digests = [], []
    for place, item in enumerate(values[0].split(",")):
        item = item[1:] if place and item[:1] in (" ", "\t") else item
        name, equals, text = item.partition("=")
        if not name or not equals or " " in item or "\t" in item:
            return "signature_malformed"
        if name in ("t", "v1"):
            (times if name == "t" else digests).append(text)
    digests = [digest for digest in digests[:5] if re.fullmatch("[0-9a-f]{64}", digest)]
    if len(times) != 1 or not re.fullmatch("[1-9][0-9]*", times[0]):
        return "signature_malformed"
    if len(times[0]) > 12:
        return "signature_milliseconds"
    return (times[0], digests) if digests else "signature_malformed"
