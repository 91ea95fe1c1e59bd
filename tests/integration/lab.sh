#!/bin/bash
# lab.sh: the hands-on lab of a Bigtable course through the router, once with `atoll cbt` and once
# with Google's cbt where that is installed. Each step's output is checked.
set -euo pipefail
cd "$(dirname "$0")/../.."
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
    exit 1
}

"$atoll" up -c configs/three-zones.yaml --state-dir "$state" --grpc-port 0 --http-port 0 --detach \
    >"$dir/up.txt"
BIGTABLE_EMULATOR_HOST=$("$atoll" status --json --state-dir "$state" | jq -r '"127.0.0.1:\(.router.grpc)"')
export BIGTABLE_EMULATOR_HOST
grep -q "export BIGTABLE_EMULATOR_HOST=$BIGTABLE_EMULATOR_HOST" "$dir/up.txt" || fail 'up prints the line to export'

# 10,000 rows as `cbt import` documents them: families, then qualifiers, then rows.
awk 'BEGIN {
    print ",pos,"; print ",lat,lon"
    for (i = 0; i < 10000; i++) printf "truck%04d#%013.0f,%d.5,%d.25\n", i % 100, 1e13 - i, i % 90, i % 180
}' >"$dir/fleet.csv"

# Runs the lab with the command in "${cbt[@]}" on table $1.
lab() {
    local table=$1 got
    "${cbt[@]}" createtable "$table"
    "${cbt[@]}" createfamily "$table" pos
    "${cbt[@]}" setgcpolicy "$table" pos maxversions=3 and maxage=7d
    "${cbt[@]}" ls | grep -qx "$table" || fail 'ls lists the table'
    got=$("${cbt[@]}" ls "$table")
    grep -q 'versions() > 3 && age() > 7d' <<<"$got" || fail "ls TABLE shows the policy: $got"

    # Reverse timestamps: the newest row of a device sorts first.
    for t in 1000 2000 3000; do
        "${cbt[@]}" set "$table" "bus7#$((9999999999999 - t))" pos:lat="$t"
    done
    "${cbt[@]}" set "$table" 'bus70#1' pos:lat=70
    got=$("${cbt[@]}" read "$table" prefix='bus7#' | grep -o '"[0-9]*"' | tr '\n' ' ')
    [ "$got" = '"3000" "2000" "1000" ' ] || fail "newest first by prefix, no other bus: $got"
    got=$("${cbt[@]}" lookup "$table" 'bus7#9999999997999')
    grep -q '"2000"' <<<"$got" || fail "lookup: $got"
    got=$("${cbt[@]}" lookup "$table" 'nobody')
    ! grep -q '"' <<<"$got" || fail "lookup of no row: $got"
    got=$("${cbt[@]}" count "$table")
    [ "$got" = 4 ] || fail "count: $got"

    "${cbt[@]}" import "$table" "$dir/fleet.csv" column-family=pos >/dev/null 2>&1 || fail 'import'
    got=$("${cbt[@]}" count "$table")
    [ "$got" = 10004 ] || fail "count after import: $got"
    got=$("${cbt[@]}" read "$table" prefix='truck0042#' count=1)
    grep -q '"42.5"' <<<"$got" || fail "an imported row: $got"
    "${cbt[@]}" waitforreplication "$table" >/dev/null || fail 'waitforreplication'
    "$atoll" digest "$table" --state-dir "$state" | grep -q '^equal$' || fail 'copies are equal'

    "${cbt[@]}" deleterow "$table" 'bus7#9999999997999'
    got=$("${cbt[@]}" read "$table" prefix='bus7#' | grep -c '^bus7#')
    [ "$got" = 2 ] || fail "deleterow: $got rows are left"
    "${cbt[@]}" deletetable "$table"
    ! "${cbt[@]}" ls | grep -qx "$table" || fail 'deletetable'
    "${cbt[@]}" read "$table" >"$dir/out" 2>&1 && fail 'reading a deleted table succeeds'
    echo "ok: ${cbt[0]##*/} $table"
}

# waitforreplication is true only when it is: with a zone down it must still be waiting.
waits_for_a_dead_zone() {
    "${cbt[@]}" createtable waiting families=f
    "$atoll" kill lab-c3 --state-dir "$state" >/dev/null
    "${cbt[@]}" set waiting row f:q=v
    if timeout 3 "${cbt[@]}" waitforreplication waiting >/dev/null 2>&1; then
        fail 'waitforreplication is true while a zone is down'
    fi
    "$atoll" start lab-c3 --state-dir "$state" >/dev/null
    timeout 120 "${cbt[@]}" waitforreplication waiting >/dev/null || fail 'waitforreplication after restart'
    "${cbt[@]}" deletetable waiting
    echo "ok: waitforreplication waits for a dead zone"
}

cbt=("$atoll" cbt)
lab own
waits_for_a_dead_zone

if command -v cbt >/dev/null; then
    cbt=(cbt -project atoll -instance lab -creds /dev/null)
    lab googles
else
    echo "SKIP: Google's cbt is not installed"
fi
