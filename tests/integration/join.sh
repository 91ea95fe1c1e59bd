#!/bin/bash
# join.sh: clusters on several machines, as folders of their own without a launcher: a cluster that is
# created stays CREATING until `atoll cluster --join` runs there, is filled, becomes READY, is found
# by the router, serves alone, and starts again although nobody is there to be asked.
set -euo pipefail
cd "$(dirname "$0")/../.."
atoll=${ATOLL:-$PWD/build/release/atoll}
dir=$(mktemp -d)
here=$dir/here there=$dir/there
declare -A pids=()

stop() {
    for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
    { wait || true; } 2>/dev/null
    rm -rf "$dir"
}
trap stop EXIT

fail() {
    echo "FAILED: $*" >&2
    tail -n 5 "$dir"/*.log >&2 || true
    exit 1
}

# start NAME ARGUMENT...: a process of its own, until it serves.
start() {
    local name=$1
    shift
    rm -f "$dir/$name.json"
    "$atoll" "$@" --run-file "$dir/$name.json" 2>>"$dir/$name.log" &
    pids[$name]=$!
    for _ in $(seq 2400); do
        [ ! -e "$dir/$name.json" ] || return 0
        kill -0 "${pids[$name]}" 2>/dev/null || fail "$name ended"
        sleep 0.05
    done
    fail "$name does not serve"
}

end() {
    kill -9 "${pids[$1]}"
    { wait "${pids[$1]}" || true; } 2>/dev/null
}

# rest VERB PATH [BODY]: the answer's JSON in $dir/body.
rest() {
    curl -sS -o "$dir/body" -X "$1" "$base$2" ${3:+-H 'content-type: application/json' -d "$3"}
}

is() {
    jq -e "$1" "$dir/body" >/dev/null || fail "not $1: $(cat "$dir/body")"
}

# until_is PATH FILTER: GET it until it fits.
until_is() {
    for _ in $(seq 1200); do
        rest GET "$1"
        ! jq -e "$2" "$dir/body" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    fail "$1 is never $2: $(cat "$dir/body")"
}

cbt() {
    BIGTABLE_EMULATOR_HOST=127.0.0.1:$(jq .grpc "$dir/router.json") "$atoll" cbt "$@"
}

# The first machine: a file with ids and ports, one cluster, a router without a launcher.
"$atoll" up -c configs/one-zone.yaml --state-dir "$here" --grpc-port 0 --http-port 0 --detach >/dev/null
"$atoll" down --state-dir "$here" >/dev/null
start c1 cluster --instance "$here/instance.yaml" --cluster lab-c1 --data "$here/data/lab-c1"
start router router --instance "$here/instance.yaml"
base=http://127.0.0.1:$(jq .http "$dir/router.json")/
member=127.0.0.1:$(jq .grpc "$dir/c1.json")
instance=v2/projects/atoll/instances/lab
cbt createtable t families=f
cbt set t before f:a=1

# What nobody has begun can be called off.
rest POST "$instance/clusters?clusterId=lab-c9" '{"location":"projects/atoll/locations/us-west1-a"}'
is '.done | not'
created=$(jq -r .name "$dir/body")
rest POST "v2/$created:cancel"
is '. == {}'
rest GET "v2/$created"
is '.done and .error.code == 1'
rest GET "$instance/clusters"
is '[.clusters[].name | sub(".*/"; "")] == ["lab-c1"]'
rest POST "v2/$created:cancel"
is '. == {}'

# Nobody is there yet.
"$atoll" cluster --join "$member" --cluster lab-c2 --data "$there" 2>"$dir/out" &&
    fail "a cluster that was not created joins"
grep -q NOT_FOUND "$dir/out" || fail "$(cat "$dir/out")"
new='{"location":"projects/atoll/locations/us-east1-c","serveNodes":2}'
rest POST "$instance/clusters?clusterId=lab-c2" "$new"
is '.done != true and (.name | startswith("operations/"))'
given_up=$(jq -r .name "$dir/body")
rest GET "$instance/clusters/lab-c2"
is '.state == "CREATING"'
rest DELETE "$instance/clusters/lab-c2"
is '. == {}'
rest GET "v2/$given_up"
is '.done and .error.code == 10'
rest POST "$instance/clusters?clusterId=lab-c2" "$new"
operation=$(jq -r .name "$dir/body")
sleep 0.5
rest GET "v2/$operation"
is '.done != true'
cbt set t meanwhile f:a=2

# The second machine.
start c2 cluster --join "$member" --cluster lab-c2 --data "$there" --zone us-east1-c
until_is "v2/$operation" '.done and .response.state == "READY"'
rest GET "$instance/clusters/lab-c2"
is '.state == "READY" and .serveNodes == 2'
until_is status '[.clusters[] | select(.healthy) | .id] | sort == ["lab-c1", "lab-c2"]'
"$atoll" cluster --join "$member" --cluster lab-c2 --data "$dir/elsewhere" 2>"$dir/out" &&
    fail "a cluster joins twice"
grep -q ALREADY_EXISTS "$dir/out" || fail "$(cat "$dir/out")"
cbt createappprofile lab any '' route-any
cbt waitforreplication t

# It serves alone, and what it takes comes to the other one; it starts without being told anything.
end c1
cbt read t app-profile=any >"$dir/rows"
[ "$(grep -c '^---' "$dir/rows")" = 2 ] || fail "rows: $(cat "$dir/rows")"
cbt set t alone app-profile=any f:a=3
end c2
start c2 cluster --join "$member" --cluster lab-c2 --data "$there"
start c1 cluster --instance "$here/instance.yaml" --cluster lab-c1 --data "$here/data/lab-c1"
until_is status '[.clusters[] | select(.healthy) | .id] | sort == ["lab-c1", "lab-c2"]'
cbt waitforreplication t
cbt read t >"$dir/rows"
[ "$(grep -c '^---' "$dir/rows")" = 3 ] || fail "rows: $(cat "$dir/rows")"

# And it leaves.
cbt deleteappprofile lab any
rest DELETE "$instance/clusters/lab-c2"
is '. == {}'
wait "${pids[c2]}" || fail "a cluster that left ends with $?"
unset 'pids[c2]'
rest GET "$instance/clusters"
is '[.clusters[].name | sub(".*/"; "")] == ["lab-c1"]'
echo "join: all of it held"
