#!/usr/bin/env bash
# Runs the stock server and this one side by side and measures them in turns:
# `make bench-compare`. Needs a JDK and Maven. Ports 8763 and 8764 must be free.
#
#   compare.sh REGISTRY BENCH DIRECTORY [flags of the load generator]
set -euo pipefail
registry=$1 bench=$2 directory=$3
shift 3
here=$(dirname "$0")

mvn -q -B -f "$here/stock/pom.xml" package
jobs=()
trap 'for job in "${jobs[@]}"; do kill "$job" 2>/dev/null || true; done; wait' EXIT

# ready URL PID LOG: waits until a server answers.
ready() {
  for _ in $(seq 600); do
    curl -fsS -o "$directory/answer" "$1" 2>/dev/null && return
    kill -0 "$2" || { cat "$3" >&2; return 1; }
    sleep 0.2
  done
  echo "$1 does not answer" >&2
  return 1
}

for instances in ${INSTANCES:-1000 10000}; do
  # Neither evicts: a fleet that is only registered and read is no dead one.
  REGISTRY_LISTEN=127.0.0.1:8763 REGISTRY_EVICTION_INTERVAL=0s "$registry" serve >"$directory/this.log" 2>&1 &
  this=$!
  jobs+=("$this")
  java -Dfile.encoding=UTF-8 -jar "$here"/stock/target/stock-eureka-server-1.jar --server.port=8764 \
    --eureka.server.eviction-interval-timer-in-ms=3600000 >"$directory/stock.log" 2>&1 &
  stock=$!
  jobs+=("$stock")
  ready http://127.0.0.1:8763/health "$this" "$directory/this.log"
  ready http://127.0.0.1:8764/eureka/apps "$stock" "$directory/stock.log"
  echo "$instances instances; \"other\" is Spring Cloud's Eureka server"
  "$bench" -base http://127.0.0.1:8763/eureka -pid "$this" -against http://127.0.0.1:8764/eureka -against-pid "$stock" \
    -instances "$instances" "$@"
  kill "$this" "$stock"
  wait "$this" "$stock" || true
  jobs=()
done
