from glob import glob

from setuptools import find_packages, setup

NAME = "drex_policy"

setup(
    name=NAME,
    version="0.1.0",
    packages=find_packages(exclude=["test", "test.*"]),
    package_data={NAME: ["py.typed", "**/*.yaml", "**/*.html", "**/*.jinja"]},
    data_files=[
        ("share/ament_index/resource_index/packages", ["resource/" + NAME]),
        ("share/" + NAME, ["package.xml"]),
        ("share/" + NAME + "/launch", glob("launch/*.py")),
        ("share/" + NAME + "/config", glob("config/*")),
    ],
    zip_safe=True,
    maintainer="D-REX for ROS 2 maintainers",
    maintainer_email="maintainers@example.org",
    description="Force-aware grasping of D-REX.",
    license="Apache-2.0",
    entry_points={
        "console_scripts": [
            "hand_node = drex_policy.nodes.hand_node:main",
            "grasp_server = drex_policy.nodes.grasp_server:main",
        ],
    },
)
