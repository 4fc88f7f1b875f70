# Read by each script: makes a temporary environment with pinned packages, removed at the end.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 2>/dev/null
python="$folder/env/bin/python"
