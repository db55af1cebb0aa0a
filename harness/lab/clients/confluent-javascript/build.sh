# Fetches the binary of the library, or else builds it from the sources in its package, with nothing else fetched.
# The library's own build would first fetch OpenSSL, curl, zlib and zstd, and start a compiler for every file at once.
set -e
cd "$(dirname "$0")/node_modules/@confluentinc/kafka-javascript"
PATH="$PWD/../../.bin:$PATH"
node-pre-gyp install && exit
export CKJS_LINKING=dynamic
node util/configure
make -j 2 -C deps/librdkafka libs install-subdirs
# The headers that were installed with Node, where they were, since those are fetched from elsewhere otherwise.
prefix="$(dirname "$(dirname "$(node -p process.execPath)")")"
if [ -e "$prefix/include/node/node_version.h" ]; then set -- "--nodedir=$prefix"; fi
node-pre-gyp install --build-from-source "$@"
