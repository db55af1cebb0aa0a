#!/usr/bin/env bash
# Provide what kafka-chaos needs and leave alone what is there: virtual environment, Java, Docker engine, images.
# Safe to call again; when everything is there it takes about a second. Installs system packages only as root
# on Debian and its relatives; elsewhere it says what to install. Nothing else in this project installs any.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

readonly min_java=17 engine_log=/var/log/kafka-chaos-dockerd.log engine_deadline=60
scratch=$(mktemp -d)
end() { # what still runs beside a failure is ended too; a dockerd that was started is not among the jobs
  local job
  for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap end EXIT

say() { printf '%s: %s\n' "$1" "$2"; }
fail() { printf '%s: %s\n' "$1" "$2" >&2; exit 3; }
can_install() { [[ $EUID -eq 0 && -e /etc/debian_version ]] && command -v apt-get >/dev/null; }

# --- what is there ---------------------------------------------------------------------------------------------

find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

java_number() { # the feature number of the Java that Spark would take; empty: none
  "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version 2>&1 |
    sed -nE 's/.*version "(1\.)?([0-9]+).*/\2/p' | head -n 1
}

java_is_there() { local number; number=$(java_number || true); [[ "${number:-0}" -ge $min_java ]]; }

engine_state() { # prints "ok VERSION", or why not: as docker-py will see it, not as some client's context does
  "$python" - <<'PY'
import http.client, json, os, socket, urllib.parse
where = urllib.parse.urlsplit(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
if where.scheme not in ("unix", "tcp") or os.environ.get("DOCKER_TLS_VERIFY"):
    raise SystemExit(print("ok (not asked)"))
connection = http.client.HTTPConnection(where.hostname or "localhost", where.port or 2375, timeout=5)
try:
    if where.scheme == "unix":
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(5)
        connection.sock.connect(where.path)
    connection.request("GET", "/version", headers={"Host": "localhost"})
    print("ok", json.loads(connection.getresponse().read())["Version"])
except PermissionError:
    print("permission denied")
except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
    print(error.__class__.__name__, getattr(error, "strerror", None) or "")
PY
}

# --- virtual environment ---------------------------------------------------------------------------------------

venv_key() { # changes when the environment has to be made again
  { cat requirements.lock pyproject.toml; pwd -P; "$python" --version; } | sha256sum
}

venv_is_there() { [[ -x .venv/bin/python && "$(cat .venv/kafka-chaos.stamp 2>/dev/null)" == "$(venv_key)" ]]; }

make_venv() {
  local installer
  # A copied or moved environment names paths of its old place in every script.
  grep -qF "$(pwd -P)/.venv" .venv/bin/activate 2>/dev/null && .venv/bin/python -c '' 2>/dev/null ||
    "$python" -m venv --clear .venv
  [[ -x .venv/bin/pip ]] || "$python" -m venv --upgrade .venv
  # uv is three times as fast as pip here; pip goes where uv cannot, for example with a mirror from pip.conf.
  sed -n '/^uv==/,/[^\\]$/p' requirements.lock >"$scratch/uv.txt"
  if .venv/bin/pip install -q --require-hashes -r "$scratch/uv.txt" &&
    .venv/bin/uv pip install -q --python .venv/bin/python --require-hashes -r requirements.lock 2>"$scratch/uv.err"; then
    installer=uv
  else
    cat "$scratch/uv.err" 2>/dev/null || true
    .venv/bin/pip install -q --require-hashes -r requirements.lock
    installer=pip
  fi
  .venv/bin/pip install -q --no-deps --no-build-isolation -e .
  # A left-over of older builds would stand before the installed metadata wherever the checkout is on the path.
  rm -rf kafka_chaos.egg-info
  venv_key >.venv/kafka-chaos.stamp
  say python "$(.venv/bin/python --version) in .venv, dependencies installed by $installer"
}

# --- Docker engine ---------------------------------------------------------------------------------------------

pid_is() { [[ -r "$1" ]] && [[ "$(cat "/proc/$(cat "$1")/comm" 2>/dev/null)" == "$2" ]]; }

start_engine() {
  local started_at=$SECONDS state pid=
  if [[ -d /run/systemd/system ]] && command -v systemctl >/dev/null; then
    systemctl start docker || true
  elif pid_is /var/run/docker.pid dockerd; then
    say docker "dockerd runs but does not answer yet; waiting for it"
  else
    # What a dockerd that was killed left behind; the pid may belong to something else by now.
    rm -f /var/run/docker.pid /var/run/docker.sock
    if ! pid_is /var/run/docker/containerd/containerd.pid containerd; then
      rm -f /var/run/docker/containerd/containerd.pid /var/run/docker/containerd/*.sock*
    fi
    setsid nohup dockerd >>"$engine_log" 2>&1 </dev/null &
    pid=$!
    disown
  fi
  while state=$(engine_state); [[ "$state" != ok* ]]; do
    if ((SECONDS - started_at > engine_deadline)) || { [[ -n "$pid" ]] && ! kill -0 "$pid" 2>/dev/null; }; then
      tail -n 15 "$engine_log" >&2 2>/dev/null || true
      fail docker "dockerd did not come up ($state); its last lines are above, the rest in $engine_log"
    fi
    sleep 0.2
  done
  say docker "engine ${state#ok } started"
}

# --- packages that only some machines need -------------------------------------------------------------------------

apt_install() { # Debian packages; the lists of packages may be fresh already
  export DEBIAN_FRONTEND=noninteractive
  say apt "installing $*"
  apt-get install -y -qq --no-install-recommends "$@" >"$scratch/apt.log" 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@"; } >>"$scratch/apt.log" 2>&1
}

build_tools() { # what images that are built here are made with
  local names=()
  command -v mvn >/dev/null || names+=(maven)
  command -v mmdebstrap >/dev/null || names+=(mmdebstrap)
  [[ ${#names[@]} -eq 0 ]] || { can_install && apt_install "${names[@]}"; }
}

# --- images: the part that needs no Python runs beside the virtual environment -----------------------------------

early_image() {
  local version base id tools
  command -v docker >/dev/null || return 0
  version=$(sed -n 's/^DEFAULT_VERSION = "\(.*\)"$/\1/p' harness/model/defaults.py)
  base=kafka-chaos/base:$(sha256sum compose/base/rootfs.sh | cut -c 1-12)
  for id in "apache/kafka:$version" "kafka-chaos/kafka:$version" "$base"; do
    ! docker image inspect "$id" >/dev/null 2>&1 || return 0
  done
  ! docker pull -q "apache/kafka:$version" >/dev/null 2>&1 || return 0
  build_tools &
  tools=$!
  command -v mmdebstrap >/dev/null || wait "$tools" || return 0
  [[ $EUID -eq 0 ]] || return 0
  # What fails here is tried again, and explained, by harness.cluster.containers.images.
  if id=$(sh compose/base/rootfs.sh 2>/dev/null | docker import --change 'LABEL kafka-chaos.image=base' - 2>/dev/null); then
    docker tag "$id" "$base"
  fi
  wait "$tools" || true
}

images() { .venv/bin/python -m harness.cluster.containers.images 2>"$scratch/images.err"; }

# ----------------------------------------------------------------------------------------------------------------

packages=()
python=$(find_python) || { python=; packages+=(python3 python3-venv); }
[[ -z "$python" ]] || venv_is_there || "$python" -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
python_waits=${#packages[@]} # for apt

if ! java_is_there; then
  # Spark would take JAVA_HOME whatever else is installed.
  [[ -z "${JAVA_HOME:-}" ]] || fail java "JAVA_HOME is $JAVA_HOME, which is no Java $min_java or later: correct or unset it"
  packages+=(java)
fi
state='no python to ask with'
[[ -z "$python" ]] || state=$(engine_state)
if [[ "$state" == "permission denied" ]]; then
  fail docker "permission denied on ${DOCKER_HOST:-/var/run/docker.sock}: add this user to the group docker and log in again, or run as root"
elif [[ -z "$python" && -S /var/run/docker.sock ]]; then
  : # very likely an engine: asked below, once there is a Python
elif [[ "$state" != ok* && -z "${DOCKER_HOST:-}" ]] && ! command -v dockerd >/dev/null; then
  packages+=(docker.io iptables mmdebstrap)
fi

# Reports are tried in a real browser by the nightly only: it is large.
if [[ -n "${KAFKA_CHAOS_BROWSER:-}" ]] && ! command -v chromium >/dev/null && can_install; then
  packages+=(chromium)
fi
# Maven fetches jars that a few tests and users need.
if [[ -n "${KAFKA_CHAOS_MAVEN:-}" ]] && ! command -v mvn >/dev/null && can_install; then
  packages+=(maven)
fi

if [[ ${#packages[@]} -gt 0 ]] && ! can_install; then
  fail missing "install ${packages[*]} (Debian's names; java means Java $min_java or later), then call this again; as root on Debian it is done for you"
fi

venv_job=
if [[ $python_waits -eq 0 ]] && ! venv_is_there; then
  make_venv &
  venv_job=$!
fi

if [[ ${#packages[@]} -gt 0 ]]; then
  export DEBIAN_FRONTEND=noninteractive
  say apt "installing ${packages[*]}"
  apt-get update -qq >"$scratch/apt.log" 2>&1 || true
  names=()
  for package in "${packages[@]}"; do
    case "$package" in
      java)
        for package in openjdk-17-jre-headless openjdk-21-jre-headless openjdk-25-jre-headless; do
          ! apt-cache show "$package" >/dev/null 2>&1 || break
        done
        ;;
      docker.io) # from Debian 13 on the client is a package of its own
        ! apt-cache show docker-cli >/dev/null 2>&1 || names+=(docker-cli)
        ;;
    esac
    names+=("$package")
  done
  apt-get install -y -qq --no-install-recommends "${names[@]}" >>"$scratch/apt.log" 2>&1 ||
    { tail -n 15 "$scratch/apt.log" >&2; fail apt "could not install ${names[*]}; the last lines are above"; }
fi

[[ -n "$python" ]] || python=$(find_python) || fail python "Python 3.11 or later is needed and this system has none to install"
if [[ -z "$venv_job" ]] && ! venv_is_there; then
  make_venv &
  venv_job=$!
fi

java_is_there || fail java "Java $min_java or later is needed and 'java' on PATH is version '$(java_number || true)': see update-alternatives --config java"
say java "$(java_number) at $(readlink -f "$(command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java")")"

state=$(engine_state)
if [[ "$state" == ok* ]]; then
  say docker "engine ${state#ok } answers"
elif [[ -n "${DOCKER_HOST:-}" ]]; then
  fail docker "no engine answers at DOCKER_HOST=$DOCKER_HOST ($state): start it there, or unset DOCKER_HOST"
elif [[ $EUID -ne 0 ]] || ! command -v dockerd >/dev/null; then
  fail docker "no engine answers at /var/run/docker.sock ($state): install and start Docker, or run this as root on Debian"
else
  start_engine
fi

if [[ -n "$venv_job" ]]; then
  early_image &
  image_job=$!
  wait "$venv_job" || fail python "the virtual environment could not be made; see the lines above"
  wait "$image_job" || true
else
  say python "$(.venv/bin/python --version) in .venv"
fi

.venv/bin/python .ci/commit_titles.py --install || true

code=0
images || code=$?
if [[ $code -ne 0 ]]; then
  # Where it lacks packages it names them; they are installed, and it is called again.
  missing=$(sed -n "s/^ *next: *install \(.*\) (Debian's package names).*/\1/p" "$scratch/images.err")
  # shellcheck disable=SC2086 # names of packages
  [[ -n "$missing" ]] && can_install && apt_install $missing && images || { cat "$scratch/images.err" >&2; exit "$code"; }
fi
