"""Tests a receiver against the conformance vectors: python3 run.py. Exits with 1 if an answer differs."""
import json
import pathlib
import sys

import model as receiver  # beside this file; put yours in its place

FOLDER = pathlib.Path(__file__).resolve().parent


def same_events(vector):
    """For each callback the first one that is the same event: as the receiver has it, and as it should be."""
    callbacks = [{"at": vector["clock"], **callback} for group in vector["groups"] for callback in group]
    firsts = []
    for callback in callbacks:
        known = (at for at in sorted(set(firsts)) if receiver.same_event(callbacks[at], callback))
        firsts.append(next(known, len(firsts)))
    groups = [number for number, group in enumerate(vector["groups"]) for _ in group]
    return firsts, [groups.index(group) for group in groups]


def played(vector):
    """Up to a tenth of a second later will do, and any one of several reports that may be the newest."""
    actual, expected = receiver.play(vector), {name: vector["expected"][name] for name in ("dispatched", "states")}
    for one, wanted in zip(actual["dispatched"], expected["dispatched"]):
        one["at"] = wanted["at"] if wanted["at"] <= one["at"] <= wanted["at"] + 0.1 else one["at"]
    for one, wanted in zip(actual["states"], expected["states"]):
        if len(wanted["newest"]) > 1 and one["newest"][0] in wanted["newest"]:
            one["newest"], one["finals"] = wanted["newest"], sorted(one["finals"], key=wanted["finals"].index)
    return actual, expected


CHECKS = {
    "signature": lambda v: (receiver.sign(v["signingSecret"], v["t"], v["bodyBase64"]), v["v1"]),
    "proof": lambda v: (receiver.prove(v), v["expected"]),
    "normalisation": lambda v: (receiver.normalise(v), v["expected"]),
    "identity": same_events,
    "sequences": played,
}
failed = 0
for family, check in CHECKS.items():
    vectors = json.loads((FOLDER / f"{family}.json").read_text("utf-8"))["vectors"]
    for vector in vectors:
        try:
            actual, expected = check(vector)
        except Exception as error:
            actual, expected = repr(error), "an answer"
        if actual != expected:
            failed += 1
            print(f"FAILED {family}: {vector['name']}\n  expected {expected}\n  got      {actual}")
    print(f"{family}: {len(vectors)} vectors")
sys.exit(1 if failed else 0)
