"""MCAP bags of serialized messages, as rosbag2 lays them out."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from drex_sim.errors import ConfigError


def typestore_for(types: Iterable[str]) -> Typestore:
    """Definitions of the message types (e.g. "drex_msgs/msg/PushTrial"), of this machine where it has them.

    Raises:
      ConfigError: a type is unknown; the text names it.
    """
    store = get_typestore(Stores.ROS2_JAZZY)
    for name in types:
        _add(store, name)
    return store


def _add(store: Typestore, name: str) -> None:
    if name in store.types:
        return
    package, kind, short = name.split("/")
    try:
        file = Path(get_package_share_directory(package)) / kind / f"{short}.msg"
        found = get_types_from_msg(file.read_text(), name)
    except (PackageNotFoundError, OSError) as error:
        raise ConfigError(f"message type {name}: no definition on this machine ({error}); build its package") from error
    for _, fields in found[name][1]:
        _add_field(store, fields)
    store.register(found)


def _add_field(store: Typestore, description: object) -> None:
    """Definitions a field needs; descriptions nest as (kind, value) pairs."""
    if isinstance(description, str):
        if description.count("/") == 2:
            _add(store, description)
    elif isinstance(description, tuple):
        for part in description:
            _add_field(store, part)


class BagWriter:
    """A bag that several threads may write to."""

    def __init__(self, folder: Path, topics: dict[str, str]) -> None:
        """Create the bag.

        Args:
          folder: must not exist yet.
          topics: message type by absolute topic name.
        """
        store = typestore_for(topics.values())
        self._writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.open()
        self._lock = threading.Lock()
        self._open = True
        self._connections = {
            topic: self._writer.add_connection(topic, kind, typestore=store) for topic, kind in topics.items()
        }

    def write(self, topic: str, stamp: int, data: bytes) -> None:
        """Append a serialized message.

        Args:
          topic: one of those given at the start.
          stamp: receive time [ns].
          data: CDR bytes with their header.
        """
        with self._lock:
            if self._open:
                self._writer.write(self._connections[topic], stamp, data)

    def close(self) -> None:
        """Write the index; closing twice does no harm."""
        with self._lock:
            if self._open:
                self._open = False
                self._writer.close()

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
