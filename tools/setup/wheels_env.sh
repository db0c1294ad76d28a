#!/usr/bin/env bash
# wheels_env.sh VENV: make ROS 2 wheels in VENV usable for colcon, and write VENV/ros_env.sh to source.
set -euo pipefail
venv=$1
py=$venv/bin/python
tag=$("$py" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
version=$("$py" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
include=$("$py" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
numpy=$("$py" -c 'import numpy; print(numpy.get_include())')
site=$("$py" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
# The wheels' CMake files name the Python of the machine that built them.
{ grep -rlE "/opt/python/$tag-$tag" "$venv/share" --include='*.cmake' || true; } | xargs -r sed -i \
  -e "s#/opt/python/$tag-$tag/include/python$version#$include#g" \
  -e "s#/opt/python/$tag-$tag/lib/python$version/site-packages/numpy/_core/include#$numpy#g"
libraries=$(find "$site" -maxdepth 1 -name 'ros_*.libs' | sort | paste -sd:)
cat > "$venv/ros_env.sh" <<ENV
. "$venv/bin/activate"
export _DREX_WHEELS=1 ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
export AMENT_PREFIX_PATH="$venv" CMAKE_PREFIX_PATH="$venv"
# The wheels' start-up hook would re-execute Python to set the library path; it is complete here.
export _ROS_WHEELS_BOOTSTRAP_COMPLETE=1 LD_LIBRARY_PATH="$venv/lib:$libraries\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
ENV
