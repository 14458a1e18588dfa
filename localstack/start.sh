#!/usr/bin/env bash
# Starts an S3 store on the loopback address, waits until it answers, creates the bucket `atlas`
# and prints the environment to use it with:
#
#   eval "$(localstack/start.sh localstack|minio [PORT])"
#
# LocalStack has S3 alone, or the SERVICES that are named. Without PORT a free one is taken. A store that already runs on PORT is used as it is.
# What the store keeps lies in target/stores/KIND-PORT and goes away with localstack/stop.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() { echo "localstack/start.sh: $*" >&2; exit 1; }

kind=${1:-localstack}
port=${2:-$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')}
dir=$PWD/target/stores/$kind-$port
url=http://127.0.0.1:$port
key=atlas-local
secret=atlas-local-secret

case $kind in
localstack)
  python=$PWD/target/tools/localstack/bin/python
  [ -x "$python" ] || fail "LocalStack is not installed; run: make setup-localstack"
  health=$url/_localstack/health
  # More than S3 names the type of a lock, which Python has had since 3.13 only.
  main="import _thread, runpy, threading
if '${SERVICES:-}':
    threading.Lock = type('Lock', (), {'__new__': lambda cls: _thread.allocate_lock()})
runpy.run_module('localstack.runtime.main', run_name='__main__')"
  command=(env GATEWAY_LISTEN="127.0.0.1:$port" SERVICES="${SERVICES:-s3}" EAGER_SERVICE_LOADING=1
    DISABLE_EVENTS=1 SKIP_SSL_CERT_DOWNLOAD=1 DNS_ADDRESS=0
    OVERRIDE_IN_DOCKER=0 FILESYSTEM_ROOT="$dir/files" TMPDIR="$dir"
    "$python" -c "$main")
  ;;
minio)
  minio=$(PATH=$PWD/target/tools/bin:$PATH command -v minio) || fail "MinIO is not installed; run: make setup-minio"
  health=$url/minio/health/ready
  command=(env MINIO_ROOT_USER="$key" MINIO_ROOT_PASSWORD="$secret" MINIO_BROWSER=off MINIO_UPDATE=off
    "$minio" server --quiet --address "127.0.0.1:$port" "$dir/files")
  ;;
*) fail "unknown store '$kind'; say localstack or minio" ;;
esac

if ! { [ -f "$dir/pid" ] && kill -0 "$(cat "$dir/pid")" 2>/dev/null; }; then
  mkdir -p "$dir/files"
  nohup "${command[@]}" >"$dir/log" 2>&1 </dev/null &
  echo $! >"$dir/pid"
fi

for _ in $(seq 300); do
  kill -0 "$(cat "$dir/pid")" 2>/dev/null || fail "$kind did not start: $(tail -n 5 "$dir/log")"
  curl --silent --fail --max-time 2 --output /dev/null "$health" && break
  sleep 0.2
done
# MinIO says that it is ready shortly before it takes buckets.
for _ in $(seq 50); do
  status=$(curl --silent --max-time 10 --output /dev/null --write-out '%{http_code}' --request PUT \
    --aws-sigv4 aws:amz:us-east-1:s3 --user "$key:$secret" "$url/atlas") || true
  case $status in 000 | 5??) sleep 0.2 ;; *) break ;; esac
done
case $status in
200 | 409) ;; # created now, or before
*) fail "$kind answers $status to the creation of its bucket; its log is $dir/log" ;;
esac

cat <<EOF
export ATLAS_STORE=s3://atlas
export AWS_ENDPOINT_URL=$url
export AWS_ALLOW_HTTP=true
export AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=$key
export AWS_SECRET_ACCESS_KEY=$secret
EOF
