"""A slow tip in plain MuJoCo, apart from the rig and from the estimator's model: a box with rounded base edges on a
plane, a position-driven sphere moved along the arc. Gives what a trial would give, in the plane of the push."""

from __future__ import annotations

import mujoco
import numpy as np

from drex_identification.estimators.force_noise import estimate_bias
from drex_identification.estimators.observation import TipObservation
from drex_sim.twin.library import prism, rectangle, twin_from_pieces

RADIUS, DT = 0.012, 0.001

XML = """<mujoco><option timestep="{dt}" integrator="implicitfast" cone="elliptic" impratio="20"/>
<worldbody><geom type="plane" size="1 1 .1" friction="{mu} .005 .0001" contype="1" conaffinity="0"/>
<body name="o" pos="0 0 {hz}"><freejoint/>
<inertial pos="{cx} 0 {cz}" mass="{m}" diaginertia="{ixx} {ixx} {izz}"/>
<geom type="box" size="{hx} {hx} {hz}" contype="2" conaffinity="0" mass="0"/>
{corners}</body>
<body name="p" pos="{px} 0 {pz}"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
<geom name="tip" type="sphere" size=".012" mass=".3" friction="{tip} .005 .0001" contype="0" conaffinity="2"
 priority="1" solref=".01 1"/></body></worldbody>
<actuator><position joint="x" kp="20000" kv="400"/><position joint="z" kp="20000" kv="400"/></actuator></mujoco>"""


def box_twin(width: float, height: float):
    return twin_from_pieces("box", "Box", [prism(rectangle(width, width), 0.0, height)], stands=True)


def tip_box(twin, width, height, mass, rng, side=1, cx=0.0, cz=0.0, radius=0.0015, noise=0.05, drift=0.005, scale=1.0):
    """One tip of the box, leaned to 60 % of its balance angle and lowered; a TipObservation."""
    hx, hz = width / 2, height / 2
    inset = hx - radius
    corners = "".join(
        f'<geom type="sphere" size="{radius}" pos="{x} {y} {radius - hz}" contype="0" conaffinity="1" mass="0"'
        ' friction=".5 .005 .0001" solref=".005 1"/>' for x in (inset, -inset) for y in (inset, -inset)
    )
    contact = 0.85 * height
    start = -(hx + RADIUS + 0.004)
    inertia = mass * (height**2 + width**2) / 12
    model = mujoco.MjModel.from_xml_string(XML.format(
        dt=DT, mu=0.5, hx=hx, hz=hz, cx=side * cx, cz=cz, m=mass, ixx=inertia, izz=mass * width**2 / 6, px=start,
        pz=contact, tip=0.6, corners=corners,
    ))
    data = mujoco.MjData(model)
    body, tip = model.body("o").id, model.geom("tip").id
    lean = 0.6 * np.arctan2(inset, hz)
    arm = np.array([-(width + RADIUS), contact])
    speed, still = 0.012, 1.0
    reach, sweep = 0.004 / speed, lean * np.linalg.norm(arm) / speed
    total = still + 2 * reach + 2 * sweep + still + 0.5
    rows = []
    bias, steps = 1.0 + np.zeros(3), int(total / DT)
    for i in range(steps):
        t = i * DT - still
        if t < 0 or t > 2 * (reach + sweep):
            target = np.array([start, contact])
        else:
            t = min(t, 2 * (reach + sweep) - t)
            phi = max(0.0, t - reach) / sweep * lean
            c, s = np.cos(phi), np.sin(phi)
            target = np.array([hx + c * arm[0] + s * arm[1], -s * arm[0] + c * arm[1]])
            target[0] -= max(0.0, reach - t) * speed
        data.ctrl[:] = target - [start, contact]
        mujoco.mj_step(model, data)
        if i % 2:
            continue
        force, wrench = np.zeros(3), np.zeros(6)
        for index in range(data.ncon):
            geoms = data.contact[index].geom
            if tip in geoms:
                mujoco.mj_contactForce(model, data, index, wrench)
                sign = 1.0 if geoms[1] != tip else -1.0
                force += sign * data.contact[index].frame.reshape(3, 3).T @ wrench[:3]
        bias += drift * np.sqrt(2 * DT) * rng.standard_normal(3)
        q = data.xquat[body]
        shown = scale * force + bias + noise * rng.standard_normal(3)
        rows.append((
            i * DT, *data.geom_xpos[tip][[0, 2]], *shown[[0, 2]], 2 * np.arctan2(q[2], q[0]),
            *(data.xpos[body][[0, 2]] - [0.0, hz]),
        ))
    return _observation(twin, np.array(rows), side, width, contact, reach, sweep, rng)


def _observation(twin, rows, side, width, contact, reach, sweep, rng):
    hx, block = width / 2, 25
    n = len(rows) // block
    mean = rows[: n * block].reshape(n, block, -1).mean(axis=1)
    times, still = mean[:, 0], 1.0
    end = still + 2 * (reach + sweep)
    phase = np.select([times < still, times < still + reach, times < still + reach + sweep, times < end],
                      ["baseline", "contact", "lean", "lower"], "baseline_after")
    force = np.column_stack([mean[:, 3], np.zeros(n), mean[:, 4]])
    free = (times < still - 0.1) | (times > end + 0.2)
    bias = estimate_bias(times, force, free, 0.005, 0.003)
    clean = (force - bias.mean)[:, [0, 2]]
    bias = type(bias)(bias.mean, bias.covariance, bias.white[[0, 2]])
    turn = still + reach + sweep
    steady = (times > still + 0.2) & (times < end) & (np.abs(times - turn) > 0.3)
    every = rows[::33]
    tilt = every[:, 5] + np.radians(0.5) * rng.standard_normal(len(every))
    moved = every[:, 6:8] + 0.0005 * rng.standard_normal((len(every), 2))
    usable = (every[:, 0] > still) & (every[:, 0] < end)
    return TipObservation(
        trial_id=f"side{side}", outcome="complete", edge_key=f"edge{side}", direction=np.array([side, 0.0]),
        direction_object=np.array([side, 0.0]), times=times, phase=tuple(phase), pad=mean[:, 1:3],
        recess=np.zeros(n), force=clean, bias=bias, steady=steady, pose_times=every[:, 0],
        pose_pad=np.stack([np.interp(every[:, 0], times, mean[:, i]) for i in (1, 2)], axis=1),
        pose_recess=np.zeros(len(every)), tilt=tilt, displacement=moved, pose_usable=usable,
        tilt_noise=np.radians(0.5), position_noise=0.0005, edge=hx,
        face_point=np.array([-hx, contact - twin.com_height]), face_normal=np.array([-1.0, 0.0]), pad_radius=RADIUS,
        gravity=9.81,
    )
