#!/bin/bash
# emulator.sh: `atoll emulator` in place of Google's, through a link named cbtemulator: started by its
# path with its flags, several projects and instances, once with `atoll cbt` and once with Google's
# cbt where that is installed. Where Google's emulator is installed, a few commands are compared.
set -euo pipefail
cd "$(dirname "$0")/../.."
atoll=${ATOLL:-$PWD/build/release/atoll}
google=${CBTEMULATOR:-/usr/lib/google-cloud-sdk/platform/bigtable-emulator/cbtemulator}
dir=$(mktemp -d)
pids=()

stop() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$dir"
}
trap stop EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# Starts program $1 with the flags behind $2; its output is $dir/$2, its port $port, its pid $pid.
start() {
    local program=$1 name=$2 line=
    shift 2
    TMPDIR=$dir/tmp "$program" "$@" >"$dir/$name" 2>"$dir/$name.err" &
    pid=$!
    pids+=("$pid")
    for _ in $(seq 1200); do
        line=$(head -1 "$dir/$name")
        [ -z "$line" ] || break
        kill -0 "$pid" 2>/dev/null || fail "$name ended: $(cat "$dir/$name.err")"
        sleep 0.05
    done
    [[ $line =~ ^Cloud\ Bigtable\ emulator\ running\ on\ .*:([0-9]+)$ ]] || fail "ready line: '$line'"
    port=${BASH_REMATCH[1]}
}

mkdir "$dir/tmp"
ln -s "$atoll" "$dir/cbtemulator"
start "$dir/cbtemulator" ours -host 127.0.0.1 -port 0
ours=$pid
export BIGTABLE_EMULATOR_HOST=127.0.0.1:$port
[ "$(ls "$dir/tmp" | wc -l)" = 1 ] || fail 'there is one temporary store'

# Several projects and instances with the command in "${cbt[@]}"; the names begin with $1.
namespaces() {
    local p got
    for p in "$1-p1 one" "$1-p1 two" "$1-p2 one"; do
        set -- "$1" $p
        "${cbt[@]}" -project "$2" -instance "$3" createtable t families=f:maxversions=1
        "${cbt[@]}" -project "$2" -instance "$3" set t r "f:q=$2/$3"
    done
    for p in "$1-p1 one" "$1-p1 two" "$1-p2 one"; do
        set -- "$1" $p
        got=$("${cbt[@]}" -project "$2" -instance "$3" ls)
        [ "$got" = t ] || fail "ls of $2 $3: $got"
        got=$("${cbt[@]}" -project "$2" -instance "$3" read t | grep '^ *"')
        [ "$got" = "    \"$2/$3\"" ] || fail "read of $2 $3: $got"
    done
    "${cbt[@]}" -project "$1-p1" -instance one deletetable t
    [ -z "$("${cbt[@]}" -project "$1-p1" -instance one ls)" ] || fail 'it is deleted'
    [ "$("${cbt[@]}" -project "$1-p1" -instance two count t)" = 1 ] || fail 'the others are not'
    "${cbt[@]}" -project "$1-p1" -instance two waitforreplication t >/dev/null 2>&1
    got=$("${cbt[@]}" -project "$1-p2" -instance one listclusters)
    grep -q '^emulator-c1.*READY (1 serve nodes)' <<<"$got" || fail "listclusters: $got"

    "${cbt[@]}" -project "$1-p3" createinstance made 'Made' made-c1 us-east1-b 1 SSD
    got=$("${cbt[@]}" -project "$1-p3" listinstances | tail -1)
    [[ $got =~ ^made[[:space:]]+Made$ ]] || fail "listinstances: $got"
    "${cbt[@]}" -project "$1-p3" -instance made createtable t
    "${cbt[@]}" -project "$1-p3" -instance made createappprofile made ap 'any' route-any >/dev/null
    "${cbt[@]}" -project "$1-p3" -instance made listappprofile made | grep -q '/ap' || fail 'profile'
    "${cbt[@]}" -project "$1-p3" deleteinstance made
    [ -z "$("${cbt[@]}" -project "$1-p3" -instance made ls)" ] || fail 'its tables went along'
    ! "${cbt[@]}" -project 'No Project' -instance i ls 2>/dev/null || fail 'names are checked'
}

cbt=("$atoll" cbt)
namespaces ours
if command -v cbt >/dev/null; then
    cbt=(cbt -creds /dev/null)
    namespaces theirs
else
    echo 'SKIP: no cbt here'
fi

# What both emulators print to the same commands.
compare() {
    local words
    echo "--- $*" | tee -a "$dir/with-ours" >>"$dir/with-google"
    words=(cbt -creds /dev/null -project p -instance "${instance:?}" "$@")
    BIGTABLE_EMULATOR_HOST=127.0.0.1:$our_port "${words[@]}" >>"$dir/with-ours" 2>&1 || echo failed >>"$dir/with-ours"
    BIGTABLE_EMULATOR_HOST=127.0.0.1:$google_port "${words[@]}" >>"$dir/with-google" 2>&1 || echo failed >>"$dir/with-google"
}

if command -v cbt >/dev/null && [ -x "$google" ]; then
    our_port=$port
    start "$google" google -host 127.0.0.1 -port 0
    google_port=$port
    instance=compared
    compare createtable t 'families=f:maxversions=2,g' splits=b,m
    compare ls
    compare set t a f:q=1@1000 f:q=2@2000 f:q=3@3000 g:x=y@1000
    compare set t b g:x=z@1000
    compare read t
    compare read t prefix=b
    compare read t columns=f:q cells-per-column=1
    compare lookup t a
    compare count t
    compare deletecolumn t a f q
    compare read t
    compare deleterow t a
    compare deleteallrows t
    compare count t
    compare deletefamily t g
    compare deletetable t
    compare ls
    diff "$dir/with-google" "$dir/with-ours" || fail 'the two emulators differ'
else
    echo 'SKIP: no emulator of Google here'
fi

kill "$ours"
wait "$ours" || fail "the exit code is $?"
[ -z "$(ls "$dir/tmp")" ] || fail 'the temporary store is gone'
grep -q -- '-port int' <<<"$("$dir/cbtemulator" -help 2>&1)" || fail 'help'
echo 'emulator: passed'
