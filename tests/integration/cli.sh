#!/bin/bash
# cli.sh: what the `atoll` command says to who asks for help, and to who asks for something wrong: one
# line that names it, and the exit status (2: not understood; 1: not done). Nothing is started.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "${ATOLL:-$PWD/build/release/atoll}" "$dir" # away from the folder of its configs
cd "$dir"
atoll=$dir/atoll
unset BIGTABLE_EMULATOR_HOST

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# says STATUS PATTERN ARGUMENT...: it ends with that status, and a line of its output matches.
says() {
    local due=$1 pattern=$2 got=0
    shift 2
    timeout 20 "$atoll" "$@" >out 2>&1 </dev/null || got=$?
    [ "$got" = "$due" ] || fail "atoll $*: status $got where $due was due: $(cat out)"
    grep -Eq -- "$pattern" out || fail "atoll $*: no /$pattern/ in: $(cat out)"
}

says 2 '^usage: atoll COMMAND'
says 2 "unknown command 'frob'" frob
says 2 "unknown command 'frob'" help frob
says 0 '^usage: atoll COMMAND' help
says 0 '^usage: atoll COMMAND' --help
says 0 '^usage: atoll COMMAND' -h
says 0 '^atoll [0-9]' --version
commands=$("$atoll" help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 16 ] || fail "commands: $commands"
for command in $commands cluster router launch; do
    says 0 "^Usage.* atoll $command" "$command" --help
    says 0 "^Usage.* atoll $command" help "$command"
done

for command in down status digest verify release kill\ c start\ c remove\ c cut\ c\ d heal explain\ t\ r gc\ run; do
    read -ra words <<<"$command"
    due=1
    [ "$command" != verify ] || due=2 # 1: they differ
    says $due "^atoll ${words[0]}: no instance in .*none; .atoll up. makes one" "${words[@]}" --state-dir none
    says 2 "unrecognized option '--frob'" "${words[@]}" --frob
done
says 2 'which instance file\?' up
says 1 'none.yaml: No such file' up -c none.yaml
echo 'clusterz: 1' >bad.yaml
says 1 'bad.yaml:1:1: Unexpected key: clusterz' up -c bad.yaml
says 2 'expected a port number' up --grpc-port=-1
says 2 'Too many arguments' up extra
says 2 'which cluster\?' kill
says 2 'which two clusters\?' cut one
says 2 'which clusters\?' remove
says 2 'which TABLE and ROW\?' explain t
says 2 'what\? gc run' gc
for span in '' x 1x -1; do says 2 'expected milliseconds' release --span="$span"; done
says 1 'Missing endpoint: give --endpoint or set BIGTABLE_EMULATOR_HOST' cbt ls
BIGTABLE_EMULATOR_HOST='' says 1 'Missing endpoint' cbt ls
says 1 "'nowhere' is not HOST:PORT" cbt --endpoint nowhere ls
says 1 'Unknown command "frob"' cbt frob
says 1 'Missing endpoint' bench
says 2 'flag provided but not defined: -frob' emulator -frob
says 1 '^failed to start emulator: address 99999: invalid port' emulator -port 99999
says 1 '^emulator: .*bad.yaml' emulator -port 0 -dir bad.yaml
echo "cli: all of it held"
