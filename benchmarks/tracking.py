"""Accuracy and speed of the tracker on rendered slow tips with known truth.

    python benchmarks/tracking.py [--quick] [--json] [--realism lab|harsh|ideal]

Each object is tipped from several sides with a finger in front of it. Times are CPU times of
one core. Errors are against the truth of the rendering;
`tilt` is the angle about the tipping axis, the quantity that identification uses.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

os.environ.setdefault("MUJOCO_GL", "egl")

import numpy as np

from drex_perception.camera.synthetic import DepthNoise, DepthScene, slow_tip
from drex_perception.tracking import Tracker
from drex_sim.rig.model import base_T_camera
from drex_sim.rig.profiles import PROFILES
from drex_sim.robot.protocols import TrackingState
from drex_sim.twin import load_twin

OBJECTS = ("ketchup", "cookie", "lego", "domino", "letter_a")
PUSHES = (0.0, np.pi, np.pi / 2, -np.pi / 2)


def measure(object_id: str, realism: str, seeds: int, rate: float) -> dict[str, float]:
    """Errors of one object over its sides and seeds."""
    twin, camera = load_twin(object_id), base_T_camera()
    scene, profile = DepthScene(twin, camera), PROFILES[realism]
    noise = DepthNoise(sigma=profile.depth_noise, edge_holes=profile.edge_holes)
    tilts, positions, milliseconds, searches, sigmas = [], [], [], [], []
    lost = frames = 0
    per_push: list[float] = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        for push in PUSHES:
            tracker = Tracker(twin, scene.intrinsics, camera)
            place = tuple(np.array([0.5, 0.0]) + rng.uniform(-0.015, 0.015, 2))
            yaw, sequence = float(rng.uniform(-0.3, 0.3)), []
            for frame in slow_tip(twin, place=place, yaw=yaw, push=push, rate=rate):
                picture = noise.apply(scene.depth(frame.base_T_object, frame.base_T_finger), rng)
                start = time.process_time()
                seen = tracker.track(picture, frame.time)
                (milliseconds if frames else searches).append(1e3 * (time.process_time() - start))
                frames += 1
                if seen.state is not TrackingState.TRACKING:
                    lost += 1
                    continue
                axis = np.cross([0, 0, 1], frame.base_T_object[:3, :3] @ [np.cos(push), np.sin(push), 0.0])
                axis /= np.linalg.norm(axis)
                tilt = np.cross(frame.base_T_object[:3, 2], seen.base_T_object[:3, 2]) @ axis
                sequence.append(np.degrees(tilt))
                positions.append(1e3 * np.linalg.norm(seen.base_T_object[:3, 3] - frame.base_T_object[:3, 3]))
                sigmas.append(np.degrees(np.sqrt(axis @ seen.covariance[3:, 3:] @ axis)))
            tilts += sequence
            per_push.append(float(np.mean(sequence)) if sequence else float("nan"))
    scene.close()
    return {
        "tilt_rms_deg": float(np.sqrt(np.mean(np.square(tilts)))),
        "tilt_bias_deg": float(np.nanmax(np.abs(per_push))),
        "tilt_sigma_deg": float(np.mean(sigmas)),
        "position_rms_mm": float(np.sqrt(np.mean(np.square(positions)))),
        "position_p95_mm": float(np.percentile(positions, 95)),
        "ms_per_frame": float(np.median(milliseconds)),
        "ms_p95": float(np.percentile(milliseconds, 95)),
        "frames": frames,
        "not_tracking": lost,
    }


def main() -> int:
    """Print one line per object and, last, one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, 8 pictures per second")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    parser.add_argument("--realism", default="lab", choices=sorted(PROFILES))
    parser.add_argument("--objects", nargs="*", default=list(OBJECTS))
    arguments = parser.parse_args()
    results = {}
    for object_id in arguments.objects:
        result = measure(object_id, arguments.realism, 1 if arguments.quick else 3, 8.0 if arguments.quick else 15.0)
        results[object_id] = {key: round(value, 3) for key, value in result.items()}
        if not arguments.json:
            print(
                f"{object_id:9s} tilt {result['tilt_rms_deg']:.2f} deg rms (worst mean of a push"
                f" {result['tilt_bias_deg']:.2f}, said {result['tilt_sigma_deg']:.2f}), position"
                f" {result['position_rms_mm']:.2f} mm rms, {result['ms_per_frame']:.1f} ms per frame, not tracking"
                f" {result['not_tracking']} of {result['frames']}",
                flush=True,
            )
    summary = {
        "benchmark": "tracking", "realism": arguments.realism,
        "worst_tilt_rms_deg": max(r["tilt_rms_deg"] for r in results.values()),
        "worst_position_rms_mm": max(r["position_rms_mm"] for r in results.values()),
        "ms_per_frame": max(r["ms_per_frame"] for r in results.values()),
        "not_tracking": sum(r["not_tracking"] for r in results.values()),
        "objects": results,
    }
    print(json.dumps(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
