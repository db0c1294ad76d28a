"""Brings up D-REX on the rig (default) or on the simulated rig (sim:=true).

    ros2 launch drex_bringup identify_and_grasp.launch.py                              # the rig; drivers run elsewhere
    ros2 launch drex_bringup identify_and_grasp.launch.py sim:=true object:=ketchup      # simulated rig
    ros2 launch drex_bringup identify_and_grasp.launch.py sim:=true run:=true            # also run the job, then end

Only brings up: nothing moves before an `identify_and_grasp` goal or run:=true.
"""

import os
import time

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    GroupAction,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.event_handlers import OnProcessExit
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParameter
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

RUNS = os.environ.get("DREX_RUNS", os.path.join(os.getcwd(), "runs"))


def text(name):
    """A launch argument as a string parameter, whatever it looks like."""
    return ParameterValue(LaunchConfiguration(name), value_type=str)


def declare():
    """The arguments."""
    config = FindPackageShare("drex_bringup")
    stamp = time.strftime("%Y-%m-%d_%H%M%S")
    truth = ["true", "false"]
    return [
        DeclareLaunchArgument("sim", default_value="false", choices=truth,
                              description="start the simulated rig; false: the real drivers run already"),
        DeclareLaunchArgument("run", default_value="false", choices=truth,
                              description="also send the IdentifyAndGrasp goal and end with its outcome"),
        DeclareLaunchArgument("object", default_value="ketchup", description="twin id of the object on the table"),
        DeclareLaunchArgument("realism", default_value="lab", choices=["ideal", "lab", "harsh"],
                              description="imperfections of the simulated rig"),
        DeclareLaunchArgument("seed", default_value="0", description="seed of the simulated rig"),
        DeclareLaunchArgument("headless", default_value="true", choices=truth,
                              description="false: open the simulator's window"),
        DeclareLaunchArgument("pace", default_value="realtime", choices=["realtime", "max"],
                              description="speed of the simulated rig"),
        DeclareLaunchArgument("calibrated", default_value="false", choices=truth,
                              description="simulated wrist sensor with the scale error of a calibrated rig (1 %)"),
        DeclareLaunchArgument("calibration_id", default_value="",
                              description="force calibration of the rig in use; empty: none"),
        DeclareLaunchArgument("namespace", default_value="", description="namespace of the D-REX nodes"),
        DeclareLaunchArgument("use_sim_time", default_value=LaunchConfiguration("sim"),
                              description="take the time from /clock"),
        DeclareLaunchArgument("params_file", default_value=PathJoinSubstitution([config, "config", "params.yaml"]),
                              description="parameters of the nodes"),
        DeclareLaunchArgument("safety_limits", default_value=PathJoinSubstitution([config, "config", "safety.yaml"]),
                              description="safety limits"),
        DeclareLaunchArgument("log_level", default_value="info", choices=["debug", "info", "warn", "error"],
                              description="of every node"),
        DeclareLaunchArgument("run_folder",
                              default_value=[os.path.join(RUNS, stamp + "_"), LaunchConfiguration("object")],
                              description="where data and report go"),
        DeclareLaunchArgument("twin_path", default_value=os.environ.get("DREX_TWIN_PATH", ""),
                              description="folders of twins, separated like PATH; the built-in library comes last"),
        DeclareLaunchArgument("hand_driver", default_value="ros2_control",
                              choices=["ros2_control", "v5", "v5_sense", "v5_torque"],
                              description="driver of the hand"),
        DeclareLaunchArgument("arm_controller", default_value="scaled_joint_trajectory_controller",
                              description="of the arm (joint_trajectory_controller from Lyrical on)"),
        DeclareLaunchArgument("skip_grasp", default_value="false", choices=truth, description="run: identify only"),
        DeclareLaunchArgument("sealed_mass_file", default_value="",
                              description="file with the true mass [kg], for the simulated rig's eyes only"),
    ]


def drex_node(package, executable, name, parameters=(), **options):
    """A D-REX node with the parameter file and its own parameters."""
    return Node(
        package=package, executable=executable, name=name, output="screen",
        parameters=[LaunchConfiguration("params_file"), *parameters],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")], **options,
    )


def nodes():
    """Every node of the graph."""
    sim = IfCondition(LaunchConfiguration("sim"))
    twin = {"object_id": text("object"), "twin_path": text("twin_path")}
    folder = {"run_folder": text("run_folder")}
    robot = {"safety_limits": text("safety_limits"), "hand_driver": text("hand_driver"),
             "arm_controller": text("arm_controller")}
    rig = {"realism": text("realism"), "seed": LaunchConfiguration("seed"), "headless": LaunchConfiguration("headless"),
           "pace": text("pace"), "force_calibrated": LaunchConfiguration("calibrated"),
           "hand_driver": text("hand_driver"), "arm_controller": text("arm_controller")}
    return [
        # The mass a user gives goes to the simulated rig's process alone, by the path of a private file.
        GroupAction(condition=sim, actions=[
            SetEnvironmentVariable("DREX_SEALED_MASS", LaunchConfiguration("sealed_mass_file")),
            drex_node("drex_sim", "rig_node", "rig", [twin, folder, rig]),
        ]),
        drex_node("drex_sim", "twin_server", "twin_server", [twin]),
        drex_node("drex_perception", "tracker", "tracker", [twin]),
        drex_node("drex_policy", "hand_node", "hand", [robot]),
        drex_node("drex_identification", "push_executor", "push_executor", [twin, folder, robot]),
        drex_node("drex_identification", "mass_estimator", "mass_estimator",
                  [twin, folder, {"calibration_id": text("calibration_id")}]),
        drex_node("drex_policy", "grasp_server", "grasp_server", [twin, folder, robot]),
        drex_node("drex_bringup", "supervisor", "supervisor", [robot]),
        drex_node("drex_bringup", "recorder", "recorder", [folder, {"hand_driver": text("hand_driver")}]),
        drex_node("drex_bringup", "coordinator", "coordinator", [folder]),
        drex_node("drex_bringup", "lifecycle_manager", "lifecycle_manager", [{"with_rig": LaunchConfiguration("sim")}]),
    ]


def died(event, context):
    """A node that dies takes the graph down: half a graph must not move a robot."""
    if event.returncode == 0 or context.is_shutdown:
        return []
    return [OpaqueFunction(function=fail, args=[f"{event.process_name} ended with exit code {event.returncode}"])]


def start_job(context):
    """run:=true: send the goal; when it has ended everything comes down, and a failed job fails the launch."""
    if context.launch_configurations["run"] != "true":
        return []
    arguments = ["--object", context.launch_configurations["object"]]
    if context.launch_configurations["skip_grasp"] == "true":
        arguments.append("--skip-grasp")
    job = Node(package="drex_bringup", executable="run_job", name="run_job", output="screen", arguments=arguments)

    def ended(event, _context):
        if event.returncode != 0:
            # An error inside an event handler is what makes the genuine `ros2 launch` exit with 1.
            return [OpaqueFunction(function=fail, args=[f"the job ended with exit code {event.returncode}"])]
        return [Shutdown(reason="the job is done")]

    return [job, RegisterEventHandler(OnProcessExit(target_action=job, on_exit=ended))]


def fail(_context, what):
    """End the launch with an error."""
    raise RuntimeError(f"{what}; its reason is in its output above")


def generate_launch_description():
    """Everything."""
    graph = nodes()
    return LaunchDescription([
        *declare(),
        SetEnvironmentVariable("RCUTILS_LOGGING_BUFFERED_STREAM", "1"),
        SetEnvironmentVariable("MUJOCO_GL", EnvironmentVariable("MUJOCO_GL", default_value="egl")),
        # One thread per process: the numerical libraries would otherwise fight for the cores of a small computer.
        SetEnvironmentVariable("OMP_NUM_THREADS", "1"),
        SetEnvironmentVariable("OPENBLAS_NUM_THREADS", "1"),
        GroupAction([
            PushRosNamespace(LaunchConfiguration("namespace")),
            SetParameter("use_sim_time", LaunchConfiguration("use_sim_time")),
            *graph,
            *[RegisterEventHandler(OnProcessExit(target_action=node, on_exit=died)) for node in graph[1:]],
            OpaqueFunction(function=start_job),
        ]),
    ])
