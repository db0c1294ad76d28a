"""Where a run keeps its data: `runs/<time>_<object>/`.

    trials/<id>.npz   estimate.json   grasp.json   result.json   report.html   report.json
    bag/ (MCAP)       pictures/       .sealed/truth.json (simulator only)
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from drex_sim.errors import ConfigError

JOB_FILES = ("estimate.json", "grasp.json", "result.json", "report.html", "report.json")
"""What one job writes; moved to `earlier/<n>` when the next job of the same bring-up starts."""


def new_run_folder(object_id: str, root: Path | None = None, now: float | None = None) -> Path:
    """Create `<root>/<time>_<object>`, with a number when it exists.

    Args:
      object_id: what the run is about; other characters than letters, digits, - and _ become _.
      root: folder of runs; None: $DREX_RUNS, else `runs` in the working directory.
      now: seconds since the epoch; None: the present.
    """
    root = root or Path(os.environ.get("DREX_RUNS", "runs"))
    stamp = time.strftime("%Y-%m-%d_%H%M%S", time.localtime(now))
    name = f"{stamp}_{re.sub(r'[^A-Za-z0-9_-]', '_', object_id) or 'object'}"
    for i in range(1, 1000):
        folder = root / (name if i == 1 else f"{name}_{i}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise ConfigError(f"run folder {folder}: {error}; choose another place with DREX_RUNS") from error
        return folder.resolve()
    raise ConfigError(f"{root}: a thousand runs named {name}; remove some")


def write_atomic(file: Path, text: str) -> None:
    """Write a text file so that a crash leaves the old one or the new one, never half of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(scratch, 0o644)
        os.replace(scratch, file)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def plain(value: Any) -> Any:
    """A value as JSON can hold it: NaN and infinity become None, arrays become lists."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def write_json(file: Path, record: dict[str, Any]) -> None:
    """Write a JSON file atomically; NaN becomes null."""
    write_atomic(file, json.dumps(plain(record), indent=1, allow_nan=False) + "\n")


def read_json(file: Path) -> dict[str, Any] | None:
    """A JSON object, or None when the file does not exist.

    Raises:
      ConfigError: it cannot be read; the text names it.
    """
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{file}: cannot be read ({error}); is it truncated?") from error
    if not isinstance(record, dict):
        raise ConfigError(f"{file}: holds a {type(record).__name__}; an object is needed")
    return record


def set_aside(folder: Path) -> Path | None:
    """Move what an earlier job left in a run folder to `earlier/<n>`; None when there is nothing."""
    present = [folder / name for name in JOB_FILES if (folder / name).exists()]
    if not present:
        return None
    number = 1
    while (folder / "earlier" / str(number)).exists():
        number += 1
    target = folder / "earlier" / str(number)
    target.mkdir(parents=True)
    for file in present:
        file.rename(target / file.name)
    return target
