"""The rebuilt interface packages have the type hashes of the originals, so that they talk to the real drivers.

Where the hashes come from:
  PUBLISHED: printed or used by independent public software that talks to the originals.
  ORIGINAL_TEXT: computed with the rosbags library (not with the generator that builds the packages) from the original
    definitions of the packages' Jazzy branches (SetPayload: from the field list of the UR driver's Jazzy release). No
    published value is known for these.
The hashes of the services and actions as a whole follow from their parts and are known nowhere else.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ament_index_python.packages import get_package_share_directory

PUBLISHED = {
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "vision_msgs/msg/Detection3DArray": "793f5eab9595ac1c0da07873cc859db42eae51f0ee76056db8562515d830e018",
}
ORIGINAL_TEXT = {
    "control_msgs/msg/JointTolerance": "c254f9cece0f3b733017b6990fd46d1326e25242d6b8844398c97d9a88e7d648",
    "control_msgs/msg/JointComponentTolerance": "739ea7566931944d33830fa10f1bf5e7a7fbdc3172bce7a7eaac642bd6e3ffa4",
    "control_msgs/action/FollowJointTrajectory_Goal": (
        "8a9060704b269608f5a340934cc26e66869dd14bdac29e2e7fd9ec8b9882d205"
    ),
    "control_msgs/action/FollowJointTrajectory_Result": (
        "8002e99ed2c14c6faa522f2a93c26d744c5982f254f9e98ff9c6f19789bdb220"
    ),
    "control_msgs/action/FollowJointTrajectory_Feedback": (
        "3fd0aaecf71725121ae1ff7f01098a5e0da581e672be18a6b2c286cb43d96b49"
    ),
    "controller_manager_msgs/msg/ChainConnection": "2daecd1da4b171f48b291c79747657a651eb1ab8821b68e38b1c88c736bba91c",
    "controller_manager_msgs/msg/ControllerState": "9a8780ab9814b6032978a07c6c7033cf1a7894ac8d948a6fb72afea07b04cc83",
    "controller_manager_msgs/srv/ListControllers_Response": (
        "445459f6b387bda67942d8bea4dfee82dedf12388317e68d5bc4513993799b86"
    ),
    "ur_dashboard_msgs/msg/RobotMode": "ba3c379b3c995f660b38d03a195dc23ed7571a1bc06ceed2cec38c75ae9bd634",
    "ur_dashboard_msgs/msg/SafetyMode": "9eb2716e6905f06e4eb60af26712660486e909026aa89c553dd633f1fb22f592",
    "ur_msgs/srv/SetPayload_Request": "af574034f2b14aa1081a656bb9f03656f9e403aff2e94441cbdcd34fc0b0df2a",
    "vision_msgs/msg/BoundingBox3D": "bbb73a65c163d7f9bb29009c7bde9f7faa576bd2d23299c4511d19230dab4698",
    "vision_msgs/msg/Detection3D": "ddd703be132ab0b69d33121f1bb034132bfbb3b0ac5f9fb1516005ba1c8a265b",
    "vision_msgs/msg/ObjectHypothesis": "51da43cec11c01957a64d1e05a24acd18aae7745ec30b74348ad5f6d634f7f90",
    "vision_msgs/msg/ObjectHypothesisWithPose": "41c12344c0396c48b81df12467c192d99b2a0eb1463c5c37194e4223251c80bc",
}


def installed_hashes(package: str) -> dict[str, str]:
    """Type hashes that the build wrote for a package."""
    hashes = {}
    for path in Path(get_package_share_directory(package)).glob("*/*.json"):
        for entry in json.loads(path.read_text()).get("type_hashes", []):
            hashes[entry["type_name"]] = entry["hash_string"].removeprefix("RIHS01_")
    return hashes


@pytest.mark.parametrize(("name", "expected"), [*PUBLISHED.items(), *ORIGINAL_TEXT.items()])
def test_type_hash(name, expected):
    assert installed_hashes(name.partition("/")[0])[name] == expected


def test_constants_of_robot_and_safety_mode():
    from ur_dashboard_msgs.msg import RobotMode, SafetyMode

    assert (RobotMode.NO_CONTROLLER, RobotMode.RUNNING, RobotMode.UPDATING_FIRMWARE) == (-1, 7, 8)
    assert (SafetyMode.NORMAL, SafetyMode.PROTECTIVE_STOP, SafetyMode.ROBOT_EMERGENCY_STOP) == (1, 3, 7)


def test_error_codes_of_follow_joint_trajectory():
    from control_msgs.action import FollowJointTrajectory

    result = FollowJointTrajectory.Result
    assert (result.SUCCESSFUL, result.INVALID_GOAL, result.GOAL_TOLERANCE_VIOLATED) == (0, -1, -5)
