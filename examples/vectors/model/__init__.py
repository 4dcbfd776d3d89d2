"""A model receiver in plain Python, of what the vectors ask for: put your own in its place."""
from .events import identity, normalise
from .proof import prove, sign

__all__ = ["identity", "normalise", "prove", "sign"]
