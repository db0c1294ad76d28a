"""PushTrial messages out of MCAP bags."""

from __future__ import annotations

from pathlib import Path

from mcap.exceptions import McapError
from mcap.reader import make_reader
from rclpy.serialization import deserialize_message

from drex_identification.conversions import trial_from_msg
from drex_identification.trials import PushTrial
from drex_msgs.msg import PushTrial as PushTrialMsg
from drex_sim.errors import TrialError

SCHEMA = "drex_msgs/msg/PushTrial"


def read_bag_trials(bag_uri: str) -> list[PushTrial]:
    """Trials of a bag, oldest first; a trial recorded twice is kept once.

    Args:
      bag_uri: an .mcap file, or a folder that holds some.

    Raises:
      TrialError: nothing there, damaged, or no PushTrial inside.
    """
    path = Path(bag_uri.removeprefix("file://"))
    files = sorted(path.glob("*.mcap")) if path.is_dir() else [path]
    if not files or not all(file.is_file() for file in files):
        raise TrialError(f"bag_uri {bag_uri}: no such .mcap file, and no folder that holds one")
    trials: dict[str, PushTrial] = {}
    for file in files:
        try:
            with file.open("rb") as stream:
                for schema, _, message in make_reader(stream).iter_messages():
                    if schema is not None and schema.name == SCHEMA:
                        trial = trial_from_msg(deserialize_message(message.data, PushTrialMsg))
                        trials[trial.trial_id] = trial
        except (McapError, OSError, EOFError) as error:
            raise TrialError(f"bag_uri {file}: damaged or truncated ({error})") from error
    if not trials:
        raise TrialError(f"bag_uri {bag_uri}: holds no message of type {SCHEMA}; record the topic push_trial")
    return sorted(trials.values(), key=lambda trial: trial.trial_id)
