# Source this in bash or zsh for an interactive shell: . env.sh
if [ -n "${ZSH_VERSION:-}" ]; then _drex_file=${(%):-%x} _drex_ext=zsh; else _drex_file=${BASH_SOURCE[0]} _drex_ext=bash; fi
_drex_root=$(cd "$(dirname "$_drex_file")" && pwd)
if [ ! -f "$_drex_root/install/setup.$_drex_ext" ]; then
  echo "env.sh: the workspace is not built; run make setup" >&2
  return 1
fi
if [ -f "$_drex_root/.venv/ros_env.sh" ]; then . "$_drex_root/.venv/ros_env.sh"; else . "$_drex_root/.venv/bin/activate"; fi
. "$_drex_root/install/setup.$_drex_ext"
export PATH="$_drex_root/install/drex_bringup/lib/drex_bringup:$PATH" MUJOCO_GL="${MUJOCO_GL:-egl}"
export DREX_ROOT="$_drex_root"
unset _drex_file _drex_ext _drex_root
