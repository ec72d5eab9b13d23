"""Doubles of the model, shipped for tests: a script, faults on purpose, a recording played back."""

from planck.testing.cassette import Playback, Recording
from planck.testing.faulty import Faulty
from planck.testing.scripted import Say, ScriptedProvider

__all__ = ["Faulty", "Playback", "Recording", "Say", "ScriptedProvider"]
