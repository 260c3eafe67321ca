#!/usr/bin/env bash
# Runs once, when Gradescope builds the image. Makes private environments beside the grader; the system's
# python3, which Gradescope's own harness needs, is only used to make them and stays as it is.
set -euo pipefail

prefix=${TPULAB_PREFIX:-/autograder}
source=$prefix/source
home=$prefix/tpulab

rm -rf "$home"
mkdir -p "$home"
cp -R "$source/tpulab/." "$home/"

recent() { "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null; }

python=
for candidate in python3.14 python3.13 python3.12 python3.11 python3; do
  if command -v "$candidate" >/dev/null && recent "$candidate"; then python=$(command -v "$candidate"); break; fi
done
if [ -z "$python" ] && command -v apt-get >/dev/null; then
  apt-get update -qq
  apt-get install -y -qq python3-venv python3-pip >/dev/null
  if recent python3; then python=$(command -v python3); fi
fi
if [ -z "$python" ]; then
  echo "The system's Python is too old; fetching a private one."
  python3 -m pip install --quiet --disable-pip-version-check --require-hashes --target "$home/uv" -r "$home/requirements/uv.txt"
  UV_PYTHON_INSTALL_DIR=$home/python "$home/uv/bin/uv" python install --quiet 3.12
  python=$(echo "$home"/python/cpython-3.12*/bin/python3.12)
fi

install="-m pip install -qq --disable-pip-version-check --require-hashes"
for pair in .venv:grader ".venv-@ENVIRONMENT@:@ENVIRONMENT@"; do
  environment=$home/${pair%%:*}
  "$python" -m venv --clear "$environment"
  # shellcheck disable=SC2086
  "$environment/bin/python" $install -r "$home/requirements/${pair##*:}.txt"
done

# Nothing of the tests, and nothing that Gradescope unpacked, is anybody's to read but root's.
chmod -R go-rwx "$home/grading_tests" "$home/class_seed" "$source"
chmod 711 "$home"
echo "tpulab: @ID@ is set up with $("$home/.venv/bin/python" --version)"
