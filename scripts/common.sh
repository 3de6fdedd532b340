# Sourced by the other scripts: the repository's root, a usable environment, and how they speak.
set -euo pipefail

TEMPER_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export TEMPER_ROOT
export PATH="${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}"
export LC_ALL=C.UTF-8
if [ -z "${HOME:-}" ]; then
  HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"
  export HOME="${HOME:-$TEMPER_ROOT/build/home}"
fi
# pip trusts its own list of authorities by default; the system's list is the one that a machine's owner keeps.
if [ -z "${PIP_CERT:-}" ] && [ -f /etc/ssl/certs/ca-certificates.crt ]; then
  export PIP_CERT=/etc/ssl/certs/ca-certificates.crt
fi
# Clones in different folders share what ccache remembers.
export CCACHE_BASEDIR="$TEMPER_ROOT" CCACHE_NOHASHDIR=1
# As many compiler processes as there are processors; TEMPER_JOBS=N overrides.
TEMPER_JOBS="${TEMPER_JOBS:-$(nproc)}"
export TEMPER_JOBS

say() { printf '== %s\n' "$*"; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# The files of the project that git knows (or would know), below the folders given; without git, all of them.
project_files() {
  if git -c safe.directory='*' -C "$TEMPER_ROOT" rev-parse --git-dir >/dev/null 2>&1; then
    (cd "$TEMPER_ROOT" && git -c safe.directory='*' ls-files --cached --others --exclude-standard -- "$@" |
      while IFS= read -r file; do [ -f "$file" ] && printf '%s\n' "$file"; done | sort -u)
  else
    (cd "$TEMPER_ROOT" && find "$@" -type f 2>/dev/null | sort)
  fi
}

# configure PRESET [cmake options]: runs CMake only as verbosely as needed; its log is shown when it fails.
configure() {
  local preset="$1" log
  shift
  log="$TEMPER_ROOT/build/$preset/configure.log"
  mkdir -p "$(dirname "$log")"
  say "configure $preset"
  (cd "$TEMPER_ROOT" && cmake --preset "$preset" "$@" >"$log" 2>&1) || {
    cat "$log" >&2
    die "configuring the preset '$preset' failed"
  }
}

# build PRESET [targets]
build() {
  local preset="$1"
  shift
  say "build $preset${*:+ ($*)}"
  ninja -C "$TEMPER_ROOT/build/$preset" -j "$TEMPER_JOBS" "$@"
}
