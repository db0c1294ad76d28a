"""Intrinsics and depth pictures: projection and the errors of bad input."""

from __future__ import annotations

import numpy as np
import pytest

from drex_perception.camera import Intrinsics, decode_depth, metres
from drex_perception.tracking.frames import StaticFrames
from drex_sim.errors import InvalidDataError
from drex_sim.transforms import from_matrix, inverse


def test_projection_inverts_back_projection():
    camera = Intrinsics.from_k([610.0, 0, 320.5, 0, 605.0, 239.5, 0, 0, 1], 640, 480)
    u, v, z = np.array([10.0, 300.0]), np.array([5.0, 470.0]), np.array([0.4, 1.3])
    assert np.allclose(camera.project(camera.back_project(u, v, z)), np.stack([u, v], 1))


def test_depth_is_decoded_by_encoding_padding_and_byte_order():
    millimetres = np.arange(700, 708, dtype=np.uint16).reshape(2, 4)
    padded = np.zeros((2, 6), ">u2")
    padded[:, :4] = millimetres
    seen = decode_depth(padded.tobytes(), "16UC1", 4, 2, step=12, big_endian=True)
    assert np.allclose(metres(seen), millimetres / 1000.0)
    real = np.array([[0.5, np.nan, np.inf, 0.7]], np.float32)
    assert np.allclose(metres(decode_depth(real.tobytes(), "32FC1", 4, 1, step=16)), [[0.5, 0.0, 0.0, 0.7]])


@pytest.mark.parametrize("data, encoding, step, match", [
    (b"\0" * 8, "16UC1", 8, "truncated"),
    (b"\0" * 16, "16UC1", 4, "truncated"),
    (b"\0" * 24, "rgb8", 12, "encoding 'rgb8'"),
])
def test_bad_depth_pictures_are_refused(data, encoding, step, match):
    with pytest.raises(InvalidDataError, match=match):
        decode_depth(data, encoding, 4, 2, step)


@pytest.mark.parametrize("k, match", [
    (np.zeros(9), "focal"), (np.full(9, np.nan), "finite"), (np.zeros(4), "9 are needed"),
])
def test_bad_camera_info_is_refused(k, match):
    with pytest.raises(InvalidDataError, match=match):
        Intrinsics.from_k(k, 640, 480)


def test_static_frames_are_chained_through_the_common_root():
    frames = StaticFrames()
    world_T_base = from_matrix([1.0, 2.0, 0.0], np.eye(3))
    world_T_camera = from_matrix([0.0, 0.0, 3.0], np.diag([1.0, -1.0, -1.0]))
    frames.add("world", "base_link", world_T_base)
    assert frames.find("base_link", "camera") is None
    frames.add("world", "camera", world_T_camera)
    assert np.allclose(frames.find("base_link", "camera"), inverse(world_T_base) @ world_T_camera)
