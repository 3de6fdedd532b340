#!/usr/bin/env bash
# Installs the Debian packages listed in scripts/packages.txt that are missing. May be run again at any time: when nothing
# is missing it changes nothing and needs neither root nor a network.
#   scripts/setup.sh           install what is missing
#   scripts/setup.sh --check   only say what is missing; exit code 1 when something is
source "$(dirname "$0")/common.sh"

mapfile -t wanted < <(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$TEMPER_ROOT/scripts/packages.txt")
command -v dpkg-query >/dev/null || die "this script knows Debian only; install the packages of scripts/packages.txt by hand"

installed="$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' 2>/dev/null | sed -n 's/ installed$//p')"
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "$package" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  say "setup: all ${#wanted[@]} Debian packages are installed"
  exit 0
fi
say "setup: ${#missing[@]} of ${#wanted[@]} Debian packages are missing: ${missing[*]}"
[ "${1:-}" = "--check" ] && exit 1

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || die "run scripts/setup.sh as root, or install sudo"
  as_root=(sudo)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
    -o Dpkg::Use-Pty=0 -qq -y "$@"
}

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
for attempt in 1 2 3; do
  say "setup: apt-get update, then apt-get install (attempt $attempt of 3)"
  # A source that Temper does not need may be broken; what counts is whether the packages can be installed.
  apt update >"$log" 2>&1 || say "setup: apt-get update complained: $(tail -n 1 "$log")"
  if apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    say "setup: installed ${#missing[@]} packages"
    exit 0
  fi
  tail -n 5 "$log" >&2
  [ "$attempt" -lt 3 ] && sleep $((attempt * 5))
done
cat "$log" >&2
die "apt-get could not install: ${missing[*]} (the message above says why; Temper needs Debian 12's own package sources)"
