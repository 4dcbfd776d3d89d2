"""A model receiver in plain Python, of what the vectors ask for: put your own in its place."""
from .events import normalise, same_event
from .proof import prove, sign
from .sequences import play

__all__ = ["normalise", "play", "prove", "same_event", "sign"]
