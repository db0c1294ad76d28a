"""Recorded pushes: what they hold, and how they are kept."""

from drex_identification.trials.push_trial import PUSH_TYPES, Phase, PushTrial
from drex_identification.trials.storage import TrialStore, load_trial, save_trial

__all__ = ["PUSH_TYPES", "Phase", "PushTrial", "TrialStore", "load_trial", "save_trial"]
