"""Node `rig`: the simulated rig behind the drivers' ROS interfaces."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64, String

from drex_msgs.srv import LoadObject, ResetRig
from drex_sim.errors import ConfigError, DrexError, TwinError, UnknownObjectError
from drex_sim.nodes.rig_arm import RigArm
from drex_sim.nodes.rig_camera import RigCamera
from drex_sim.nodes.rig_loop import PACES, RigLoop
from drex_sim.nodes.rig_signals import RigSignals
from drex_sim.nodes.robot_streams import ARM_TOPIC
from drex_sim.nodes.support import LATCHED, RELIABLE, DrexNode, run_node
from drex_sim.rig import RigConfig, RigSample, SimulatedRig
from drex_sim.robot.realisation import check_mode, default_mode
from drex_sim.robot.urdf import robot_urdf
from drex_sim.twin.mass_record import check_mass

DISCOVERY_TIME = 0.7
"""Time given to find another publisher of the joint states before starting [s]."""
MASS_VARIABLE = "DREX_SEALED_MASS"
"""Names a private file with the true mass of a scanned object [kg]; the mass itself is never a parameter."""
VIEWER_EVERY = 16
"""Steps between two pictures of the window (31 Hz)."""


class RigNode(DrexNode):
    """Physics and publishing in one thread, rendering in another, actions and services on the executor."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("rig", **kwargs)
        self._io: Node | None = None
        self._camera: RigCamera | None = None
        self._arm: RigArm | None = None
        self._loop: RigLoop | None = None
        self._viewer: Any = None
        self._handles: list[Any] = []

    def setup(self) -> None:
        """Build the rig and its interfaces."""
        config, pace, rate, controller = self._read_parameters()
        self._refuse_second_robot()
        rig = SimulatedRig(config)
        if not self.get_parameter("headless").value:
            self._viewer = _open_viewer(rig)
        self._io = self._make_io_node()
        self._signals = RigSignals(self._io, rig, rig.hand.driver, rig.hand.mode)
        self._loop = RigLoop(rig, pace, self._signals.take_commands, self._after_step, self._on_failure)
        if rate > 0:
            self._camera = RigCamera(self._io, rig, rate, self._on_failure)
        hand = f"allegro_hand_{rig.hand.mode}_controller" if rig.hand.driver == "ros2_control" else ""
        self._arm = RigArm(self, self._loop, controller, hand)
        self._description = self.create_publisher(String, "/robot_description", LATCHED)
        self._description.publish(String(data=robot_urdf(rig.kinematics.model, rig.hand.driver)))
        self._factor = self.create_publisher(Float64, "rig/real_time_factor", RELIABLE)
        self._handles = [
            self.create_service(ResetRig, "sim/reset", self._on_reset, callback_group=self.group),
            self.create_service(LoadObject, "sim/load", self._on_load, callback_group=self.group),
            self.create_timer(1.0, self._report_factor, clock=Clock(clock_type=ClockType.STEADY_TIME)),
        ]
        self.get_logger().info(
            f"simulated rig: {rig.twin.id}, realism {config.realism}, seed {config.seed}, hand driver"
            f" {rig.hand.driver} ({rig.hand.mode} mode), pace {pace}"
        )

    def _read_parameters(self) -> tuple[RigConfig, str, float, str]:
        object_id = self.declare("object_id", "ketchup", "twin of the object on the table")
        realism = self.declare("realism", "lab", "ideal, lab or harsh")
        seed = self.declare("seed", 0, "draws the hidden truth and the noise")
        pace = self.declare("pace", "realtime", "realtime, or max: as fast as it goes")
        rate = self.declare("camera_rate", 15.0, "pictures per second; 0: no camera [Hz]")
        folder = self.declare("run_folder", "", "where the sealed truth is written; empty: nowhere")
        calibrated = self.declare("force_calibrated", False, "wrist sensor with 1 % common scale error")
        driver = self.declare("hand_driver", "ros2_control", "ros2_control, v5, v5_sense or v5_torque")
        mode = self.declare("hand_mode", "", "position or effort; empty: the driver's default")
        controller = self.declare(
            "arm_controller", "scaled_joint_trajectory_controller", "trajectory controller"
        )
        headless = self.declare("headless", True, "false: open a window")
        twin_path = self.declare("twin_path", "", "folders of twins, separated like PATH")
        if pace not in PACES:
            raise ConfigError(f"parameter pace is {pace!r}; allowed: {', '.join(PACES)}")
        if rate < 0 or rate > 60:
            raise ConfigError(f"parameter camera_rate is {rate}; 0 to 60 Hz are allowed")
        check_mode(driver, mode or default_mode(driver))
        config = RigConfig(
            object_id=object_id,
            realism=realism,
            seed=seed,
            hand_driver=driver,
            hand_mode=mode or None,
            force_calibrated=calibrated,
            twin_path=twin_path or None,
            mass=_given_mass(),
            visuals=rate > 0 or not headless,
            run_folder=Path(folder) if folder else None,
        )
        return config, pace, float(rate), controller

    def _refuse_second_robot(self) -> None:
        deadline = time.monotonic() + DISCOVERY_TIME
        while time.monotonic() < deadline:
            if self.count_publishers(ARM_TOPIC):
                raise ConfigError(
                    f"{ARM_TOPIC} already has a publisher: a robot, or another simulator, is on this ROS domain; the"
                    " simulator does not start beside it. Stop that one, or use another ROS_DOMAIN_ID"
                )
            time.sleep(0.05)

    def _make_io_node(self) -> Node:
        return Node(
            "rig_io",
            namespace=self.get_namespace(),
            context=self.context,
            enable_rosout=False,
            start_parameter_services=False,
            cli_args=["--ros-args", "-r", "__node:=rig_io"],
        )

    def start(self) -> None:
        """Start physics and camera."""
        assert self._loop is not None
        if self._camera is not None:
            self._camera.start()
        self._loop.start()

    def stop(self) -> None:
        """Stop camera and physics."""
        assert self._loop is not None
        self._loop.stop()
        if self._camera is not None:
            self._camera.stop()

    def teardown(self) -> None:
        """Destroy the interfaces."""
        if self._arm is not None:
            self._arm.close()
        for handle in self._handles:
            self.destroy_timer(handle) if hasattr(handle, "time_until_next_call") else self.destroy_service(
                handle
            )
        if self._io is not None:
            self._io.destroy_node()
        if self._viewer is not None:
            self._viewer.close()
        self._io = self._arm = self._camera = self._loop = self._viewer = None
        self._handles = []

    def _after_step(self, sample: RigSample) -> None:
        self._signals.publish(sample)
        if self._camera is not None:
            self._camera.expose()
        if self._viewer is not None and self._loop is not None and self._loop.rig.steps % VIEWER_EVERY == 0:
            self._viewer.sync()

    def _on_failure(self, error: BaseException) -> None:
        if self.context.ok():  # on Ctrl-C the context goes first and publishing fails
            self.report_exception("the simulated rig stopped", error)

    def _report_factor(self) -> None:
        if self.active and self._loop is not None:
            self._factor.publish(Float64(data=self._loop.factor))

    def _on_reset(self, request: ResetRig.Request, response: ResetRig.Response) -> ResetRig.Response:
        assert self._loop is not None
        rig = self._loop.rig
        if rig.arm.moving:
            response.error_code, response.message = request.BUSY, "the arm is moving; cancel its goal first"
            return response
        try:
            self._loop.call(
                lambda: rig.reset(
                    seed=int(request.seed) if request.seed >= 0 else None,
                    realism=request.realism or None,
                    keep=request.keep_realisation,
                ),
                timeout=20.0,
            )
        except DrexError as error:
            response.error_code, response.message = request.BAD_REQUEST, str(error)
            return response
        response.success, response.message = True, f"{rig.twin.id} stands on the table, arm at home"
        return response

    def _on_load(self, request: LoadObject.Request, response: LoadObject.Response) -> LoadObject.Response:
        assert self._loop is not None
        rig = self._loop.rig
        if not self.active:
            response.error_code, response.message = request.INACTIVE, "the rig is not active"
        elif rig.arm.moving:
            response.error_code, response.message = request.BUSY, "the arm is moving; cancel its goal first"
        else:
            try:
                self._loop.call(lambda: rig.load(request.object_id), timeout=20.0)
                response.success = True
                response.message = f"{rig.twin.id} stands on the table"
                response.loaded.object_id, response.loaded.twin_hash = rig.twin.id, rig.twin.hash
            except UnknownObjectError as error:
                response.error_code, response.message = request.UNKNOWN_OBJECT, str(error)
            except (TwinError, ConfigError) as error:
                response.error_code, response.message = request.BAD_TWIN, str(error)
        return response


def _given_mass() -> float | None:
    file = os.environ.get(MASS_VARIABLE)
    if not file:
        return None
    try:
        return check_mass(float(Path(file).read_text()), file)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{MASS_VARIABLE}: {file}: {error}; a file with one number in kilograms is needed"
        ) from error


def _open_viewer(rig: SimulatedRig) -> Any:
    try:
        import mujoco.viewer  # needs a display, which a headless run has not

        return mujoco.viewer.launch_passive(rig.model, rig.data, show_left_ui=False, show_right_ui=False)
    except Exception as error:
        raise ConfigError(
            f"headless is false but no window can be opened ({error}); set headless to true"
        ) from error


def main() -> None:
    """Entry point of `rig_node`."""
    sys.exit(run_node(RigNode))


if __name__ == "__main__":
    main()
