# rest.sh: helpers of integration scripts, sourced by them: an instance in a temporary folder, its
# REST/JSON front by curl, and real gcloud pointed at it. The script sets `config` before.
# shellcheck shell=bash
atoll=${ATOLL:-$PWD/build/release/atoll}
dir=$(mktemp -d)
state=$dir/state

stop() {
    "$atoll" down --state-dir "$state" >/dev/null 2>&1 || true
    rm -rf "$dir"
}
trap stop EXIT

fail() {
    echo "FAILED: $*" >&2
    [ ! -e "$dir/err" ] || cat "$dir/err" >&2
    exit 1
}

# shellcheck disable=SC2154 # the script's
"$atoll" up -c "$config" --state-dir "$state" --grpc-port 0 --http-port 0 --detach >/dev/null
base=$("$atoll" status --json --state-dir "$state" | jq -r '"http://127.0.0.1:\(.router.http)/"')
BIGTABLE_EMULATOR_HOST=$("$atoll" status --json --state-dir "$state" | jq -r '"127.0.0.1:\(.router.grpc)"')
export BIGTABLE_EMULATOR_HOST

# rest VERB PATH [BODY]: the status in $status, the answer's JSON in $dir/body.
rest() {
    status=$(curl -sS -o "$dir/body" -w '%{http_code}' -X "$1" "$base$2" ${3:+-H 'content-type: application/json' -d "$3"})
}

# answers STATUS FILTER: what rest got has this status, and fits the jq filter.
answers() {
    [ "$status" = "$1" ] || fail "HTTP $status where $1 was due: $(cat "$dir/body")"
    jq -e "$2" "$dir/body" >/dev/null || fail "not $2: $(cat "$dir/body")"
}

export CLOUDSDK_API_ENDPOINT_OVERRIDES_BIGTABLEADMIN=$base CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true
export CLOUDSDK_CORE_PROJECT=atoll CLOUDSDK_CORE_DISABLE_PROMPTS=1 CLOUDSDK_CONFIG=$dir/gcloud
export CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=1 CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=1

# g ARGUMENT...: runs gcloud bigtable; what it prints is in $dir/out, as JSON.
g() {
    gcloud bigtable "$@" --format=json >"$dir/out" 2>"$dir/err" || fail "gcloud bigtable $*"
}

# g_fails PATTERN ARGUMENT...: it must fail, and say so.
g_fails() {
    local pattern=$1
    shift
    ! gcloud bigtable "$@" --format=json >"$dir/out" 2>"$dir/err" || fail "gcloud bigtable $* must fail"
    grep -q "$pattern" "$dir/err" || fail "gcloud bigtable $* does not say $pattern"
}

# out FILTER: what g printed fits the jq filter.
out() {
    jq -e "$1" "$dir/out" >/dev/null || fail "not $1: $(cat "$dir/out")"
}
