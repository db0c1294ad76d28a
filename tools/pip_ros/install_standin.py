"""Make the launch and `ros2` stand-in importable in this Python environment, unless the originals are there."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from pathlib import Path

STANDIN = Path(__file__).resolve().parent / "standin"


def main() -> None:
    """Write a .pth file and the `ros2` script."""
    found = importlib.util.find_spec("launch_ros")
    if found is not None and STANDIN not in Path(found.origin or "").resolve().parents:
        print("the genuine launch_ros is installed; the stand-in is not used")
        return
    Path(sysconfig.get_paths()["purelib"], "drex_launch_standin.pth").write_text(f"{STANDIN}\n")
    script = Path(sys.executable).parent / "ros2"
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom ros2_standin.cli import main\nsys.exit(main())\n")
    os.chmod(script, 0o755)
    print(f"launch and ros2 stand-in installed ({script})")


if __name__ == "__main__":
    main()
