"""Quality-of-service profiles of the D-REX interfaces (docs/interfaces.md)."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

SENSOR_PUBLISHER = QoSProfile(depth=5, reliability=ReliabilityPolicy.RELIABLE)
"""Publishers of sensor data: reliable, so that any subscriber matches."""

STREAM = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Subscribers drained in batches: best effort, one second of a 500 Hz topic."""

LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Last value kept for late joiners."""

RELIABLE = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""Commands: only the newest matters, and it must arrive."""

TRIALS = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
"""Recorded pushes: kept for an estimator that starts later."""
