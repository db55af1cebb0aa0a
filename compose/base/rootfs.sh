#!/bin/sh
# Write a Debian with a Java runtime as a tar to standard output: the base of our images where no image registry
# can be reached. The sidecar's packages lie in /usr/share/kafka-chaos/debs, not installed.
# Needs root and mmdebstrap. The package source is the machine's own where it runs a suite named here.
set -eu

suite=bookworm java=openjdk-17-jre-headless sources=
if [ -r /etc/os-release ] && [ "$(. /etc/os-release && echo "${ID:-}")" = debian ]; then
  here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  case "$here" in
    bookworm) sources=/etc/apt/sources.list.d/debian.sources ;;
    trixie) suite=trixie java=openjdk-21-jre-headless sources=/etc/apt/sources.list.d/debian.sources ;;
  esac
fi
[ -r "${sources:-/nonexistent}" ] || sources=

# Java's own installation scripts expect a folder for manual pages, though none are kept.
exec mmdebstrap --quiet --variant=minbase --format=tar --include="$java" \
  --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --essential-hook='mkdir -p "$1/usr/share/man/man1"' \
  --customize-hook='mkdir -p "$1/usr/share/kafka-chaos/debs/partial"' \
  --customize-hook='chroot "$1" apt-get install -qq -y --no-install-recommends --download-only -o Dir::Cache::archives=/usr/share/kafka-chaos/debs iptables iproute2 procps libfaketime' \
  --customize-hook='rm -rf "$1/usr/share/kafka-chaos/debs/partial" "$1/usr/share/kafka-chaos/debs/lock"' \
  "$suite" - ${sources:+"$sources"}
