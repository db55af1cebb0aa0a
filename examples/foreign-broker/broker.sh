#!/bin/sh
# One Tansu broker as a process of yours: broker.sh start | kill | gone | pause | paused | resume
#
# KAFKA_CHAOS_TANSU is the binary, TANSU_DIR an existing folder for its storage, log and process id, TANSU_PORT
# the port on 127.0.0.1, TANSU_STORAGE the storage engine (default: a SQLite file in TANSU_DIR).
cd "${TANSU_DIR:?an existing folder}" || exit 2
port=${TANSU_PORT:-29092}
pid=$(cat pid 2>/dev/null)
state() { cut -d ' ' -f 3 "/proc/$pid/stat" 2>/dev/null; }

case $1 in
start)
    [ -n "$pid" ] && case $(state) in '' | Z) ;; *) exit 0 ;; esac  # It runs already.
    nohup "${KAFKA_CHAOS_TANSU:?the binary}" broker --listener-url "tcp://127.0.0.1:$port" \
        --advertised-listener-url "tcp://127.0.0.1:$port" \
        --storage-engine "${TANSU_STORAGE:-sqlite://tansu.db}" >>log 2>&1 </dev/null &
    echo $! >pid
    ;;
kill) kill -KILL "$pid" ;;
gone) case $(state) in '' | Z) ;; *) exit 1 ;; esac ;;
pause) kill -STOP "$pid" ;;
paused) [ "$(state)" = T ] ;;
resume) kill -CONT "$pid" ;;
*) exit 2 ;;
esac
