#!/bin/sh
# Write a Debian with Python as a tar to standard output: the base of the proxy's image where no image registry can be
# reached. Needs root and mmdebstrap. The package source is the machine's own where it runs a suite named here.
set -eu

suite=bookworm sources=
if [ -r /etc/os-release ] && [ "$(. /etc/os-release && echo "${ID:-}")" = debian ]; then
  here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  case "$here" in
    bookworm | trixie) suite=$here sources=/etc/apt/sources.list.d/debian.sources ;;
  esac
fi
[ -r "${sources:-/nonexistent}" ] || sources=

exec mmdebstrap --quiet --variant=minbase --format=tar --include=python3 \
  --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  "$suite" - ${sources:+"$sources"}
