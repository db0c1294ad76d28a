"""Figures of the report, as self-contained SVG or JPEG data."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from drex_identification.trials.push_trial import PushTrial

Array = NDArray[np.float64]
BLUE, ORANGE, GREY, GREEN, RED = "#2864b4", "#e07b1a", "#8a8f98", "#2e8b57", "#c0392b"
STEPS = 1500
"""A series longer than this is thinned for drawing."""
G = 9.81


def numbers(values: Sequence[Any]) -> Array:
    """A list with nulls as an array with NaN."""
    return np.asarray([np.nan if v is None else v for v in values], float)


def svg(figure: Figure) -> str:
    """The figure as inline SVG."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight")
    text = buffer.getvalue()
    return text[text.index("<svg"):]


def _figure(columns: int, rows: int = 1, width: float = 5.2, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    flat = [axis for row in axes for axis in row]
    for axis in flat:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, flat


def _thin(length: int) -> slice:
    return slice(None, None, max(1, length // STEPS))


def trial_signals(trial: PushTrial) -> str:
    """Pose and force of one push over time, as recorded."""
    blocks = trial.blocks
    start = blocks.wrench_stamps[0] if len(blocks.wrench_stamps) else 0.0
    figure, (position, tilt, force) = _figure(3, width=4.3, height=2.8)
    if len(blocks.poses):
        t = blocks.pose_stamps - start
        for column, name, colour in ((0, "x", BLUE), (1, "y", ORANGE), (2, "z", GREEN)):
            position.plot(t, 1e3 * (blocks.poses[:, column] - blocks.poses[0, column]), color=colour, label=name)
        tilt.plot(t, np.degrees(_tilt(blocks.poses)), color=BLUE)
    cut = _thin(len(blocks.wrench_stamps))
    for column, name, colour in ((0, "fx", BLUE), (1, "fy", ORANGE), (2, "fz", GREEN)):
        force.plot((blocks.wrench_stamps - start)[cut], blocks.wrenches[cut, column], color=colour, lw=0.7, label=name)
    for axis, title, unit in (
        (position, "tracked position, change", "mm"), (tilt, "tracked tilt", "deg"),
        (force, "measured wrist force (hand's axes)", "N"),
    ):
        for phase in trial.phases:
            axis.axvline(phase.start - start, color=GREY, lw=0.5, ls=":")
        axis.set(title=title, xlabel="time [s]", ylabel=unit)
    position.legend(frameon=False)
    force.legend(frameon=False)
    return svg(figure)


def _tilt(poses: Array) -> Array:
    """Angle of the object's z axis from where it was at first, (P,) [rad]; poses (P, 8)."""
    x, y, z, w = poses[:, 3:7].T
    axis = np.stack([2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)], axis=1)
    return np.arccos(np.clip(axis @ axis[0], -1.0, 1.0))


def trial_fit(fit: dict[str, Any]) -> str:
    """The fitted model against what was observed in one push."""
    t = numbers(fit["times"])
    cut = _thin(len(t))
    tilt_seen, tilt_fitted = np.degrees(numbers(fit["tilt_observed"])), np.degrees(numbers(fit["tilt_fitted"]))
    moment_seen, moment_fitted = numbers(fit["moment_observed"]), numbers(fit["moment_fitted"])
    force_seen = np.asarray([[np.nan, np.nan] if f is None else [np.nan if v is None else v for v in f]
                             for f in fit["force_observed"]], float).reshape(-1, 2)
    figure, (tilt, force, moment) = _figure(3, width=4.3, height=2.8)
    tilt.plot(t, tilt_seen, ".", ms=2, color=GREY, label="tracked")
    tilt.plot(t[cut], tilt_fitted[cut], color=ORANGE, label="fitted")
    tilt.set(title="tilt", xlabel="time [s]", ylabel="deg")
    force.plot(t[cut], force_seen[cut, 0], color=GREY, lw=0.7, label="measured, along the push")
    force.plot(t[cut], force_seen[cut, 1], color=BLUE, lw=0.5, alpha=0.6, label="measured, vertical")
    force.plot(t[cut], numbers(fit["force_fitted"])[cut], color=ORANGE, label="fitted, along the push")
    force.set(title="force on the object", xlabel="time [s]", ylabel="N")
    moment.plot(tilt_fitted[cut], moment_seen[cut], ".", ms=2, color=GREY, label="measured")
    moment.plot(tilt_fitted[cut], moment_fitted[cut], ".", ms=1.5, color=ORANGE, label="m g (d cos - z sin)")
    moment.set(title="moment about the edge", xlabel="tilt [deg]", ylabel="N m")
    for axis in (tilt, force, moment):
        axis.legend(frameon=False, fontsize=7)
    return svg(figure)


def posterior(estimate: dict[str, Any], truth: float | None) -> str:
    """Loss over mass, and the posterior with its 95 % interval."""
    profile = estimate["profile"]
    grid = numbers(profile["mass_grid"])
    figure, (loss, density) = _figure(2)
    loss.semilogx(grid, numbers(profile["neg_log_posterior"]), color=BLUE)
    loss.axhline(1.92, color=GREY, lw=0.8, ls="--")
    loss.set(title="loss over mass (- log posterior, profile)", xlabel="mass [kg]", ylabel="above the minimum")
    loss.set_ylim(-0.5, 30.0)
    density.plot(grid, numbers(profile["density"]), color=BLUE)
    interval = estimate.get("ci95")
    if interval:
        density.axvspan(*interval, color=BLUE, alpha=0.15, label="95 % interval")
        room = 1.5 * (interval[1] - interval[0])
        density.set_xlim(max(grid[0], interval[0] - room), min(grid[-1], interval[1] + room))
    density.set(title="posterior", xlabel="mass [kg]", ylabel="density [1/kg]")
    for axis in (loss, density):
        if truth is not None:
            axis.axvline(truth, color=RED, lw=1.2, label="truth")
        axis.legend(frameon=False) if axis.get_legend_handles_labels()[0] else None
    return svg(figure)


def grasp_series(grasp: dict[str, Any]) -> str | None:
    """Every series of grasp.json that shares the length of its `times`; None when there is none."""
    series = grasp.get("series") if isinstance(grasp.get("series"), dict) else grasp
    times = series.get("times")
    if not isinstance(times, list) or len(times) < 2:
        return None
    chosen = [(name, values) for name, values in series.items()
              if name != "times" and isinstance(values, list) and len(values) == len(times)
              and all(v is None or isinstance(v, int | float) for v in values)]
    if not chosen:
        return None
    figure, axes = _figure(min(3, len(chosen)), -(-len(chosen) // 3), width=4.3, height=2.6)
    cut = _thin(len(times))
    for axis, (name, values) in zip(axes, chosen, strict=False):
        axis.plot(numbers(times)[cut], numbers(values)[cut], color=BLUE)
        axis.set(title=name.replace("_", " "), xlabel="time [s]")
    for axis in axes[len(chosen):]:
        axis.set_visible(False)
    return svg(figure)


def data_url(data: bytes, kind: str) -> str:
    """The bytes as a data URL."""
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def film(pictures: Sequence[Path], frames: int = 40, width: int = 320) -> bytes | None:
    """A short film (GIF) of the run; None without pictures."""
    if not pictures:
        return None
    chosen = [pictures[int(i)] for i in np.linspace(0, len(pictures) - 1, min(frames, len(pictures)))]
    images = [image for image in map(_small(width), chosen) if image is not None]
    if not images:
        return None
    buffer = io.BytesIO()
    images[0].save(buffer, "GIF", save_all=True, append_images=images[1:], duration=200, loop=0, optimize=True)
    return buffer.getvalue()


def _small(width: int) -> Callable[[Path], Image.Image | None]:
    def shrink(file: Path) -> Image.Image | None:
        try:
            with Image.open(file) as image:
                size = (width, round(image.height * width / image.width))
                return image.convert("RGB").resize(size).quantize(64, method=Image.Quantize.FASTOCTREE)
        except OSError:
            # A picture cut off by a crash is no reason to have no report.
            return None

    return shrink
