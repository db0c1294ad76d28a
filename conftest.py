"""Settings of the whole test run: they must be in place before the first import of MuJoCo."""

import os

os.environ.setdefault("MUJOCO_GL", "egl")
os.environ.setdefault("OMP_NUM_THREADS", "1")
