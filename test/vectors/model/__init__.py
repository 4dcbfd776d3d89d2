"""A model receiver in plain Python, of what the vectors ask for: put your own in its place."""
from .events import identity, normalise
from .proof import prove, sign
from .sequences import play

__all__ = ["identity", "normalise", "play", "prove", "sign"]
