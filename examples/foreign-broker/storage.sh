#!/bin/sh
# The PostgreSQL that keeps the records of a Tansu broker: storage.sh create SCHEMA | start | kill | gone | pause | paused | resume
#
# PG_BIN is the folder of its programs, PG_DIR a folder for its data that it makes itself, PG_PORT the port on
# 127.0.0.1. Run it as a user other than root, or as root: then the user postgres owns the data. SCHEMA is
# etc/initdb.d/010-schema.sql of Tansu's repository. The broker's TANSU_STORAGE is then
# postgres://postgres@127.0.0.1:PG_PORT/postgres
bin=${PG_BIN:-/usr/lib/postgresql/17/bin} port=${PG_PORT:-29432} data=${PG_DIR:?a folder for its data}
as() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null)
# A killed one leaves this file, and its number may be another program's by now.
[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = postgres ] || pid=none
# The processes that serve connections are children, and stop and go on with their parent.
all() { echo "$pid"; cat "/proc/$pid/task/$pid/children" 2>/dev/null; }
state() { cut -d ' ' -f 3 "/proc/$pid/stat" 2>/dev/null; }

case $1 in
create)
    mkdir -p "$data" && { [ "$(id -u)" != 0 ] || chown postgres "$data"; } || exit 2
    as "$bin/initdb" --pgdata "$data" --username postgres --auth trust >/dev/null || exit 2
    sh "$0" start && as "$bin/psql" --quiet --no-psqlrc --set ON_ERROR_STOP=1 --host 127.0.0.1 --port "$port" \
        --username postgres postgres <"$2" >/dev/null
    ;;
start)
    case $(state) in '' | Z) rm -f "$data/postmaster.pid" ;; *) exit 0 ;; esac
    as "$bin/pg_ctl" start --pgdata "$data" --wait --silent --log "$data/log" \
        --options "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories="
    ;;
kill) kill -KILL $(all) ;;
gone) case $(state) in '' | Z) ;; *) exit 1 ;; esac ;;
pause) kill -STOP $(all) ;;
paused) [ "$(state)" = T ] ;;
resume) kill -CONT $(all) ;;
*) exit 2 ;;
esac
