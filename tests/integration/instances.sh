#!/bin/bash
# instances.sh: the administration lab with real `gcloud bigtable` and `cbt`: an instance is made,
# gets a second cluster, profiles, backups, and goes again; `atoll status` shows the processes.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v gcloud >/dev/null || { echo "SKIP: no gcloud"; exit 0; }
config=configs/one-zone.yaml
. tests/support/rest.sh

# The real cbt where it is installed, else ours: same grammar.
if command -v cbt >/dev/null; then
    cbt() { command cbt -project atoll -instance i1 -creds /dev/null "$@"; }
else
    cbt() { "$atoll" cbt --instance i1 "$@"; }
fi

# runs INSTANCE: ids of its clusters that have a process, in one line.
runs() {
    "$atoll" status --json --state-dir "$state" |
        jq -r --arg i "$1" '[.instances[] | select(.name | endswith("/instances/" + $i)) | .clusters[] | select(.pid > 0) | .id] | sort | join(" ")'
}

# keys TABLE PROFILE: how many rows a read through an app profile returns.
keys() {
    cbt read "$1" app-profile="$2" | grep -c '^-----'
}

# router_again: the router is killed and started.
router_again() {
    "$atoll" kill router --state-dir "$state" >/dev/null
    "$atoll" start router --state-dir "$state" >/dev/null
}

# begun: the operation of the last command with --async, which gcloud tells only to the user.
begun() {
    grep -o 'operations/projects/[^] ]*' "$dir/err"
}

# ended OPERATION: waits until it is done; its answer is in $dir/body.
ended() {
    for _ in $(seq 1200); do
        rest GET "v2/$1"
        [ "$status" = 200 ] || return 0
        [ "$(jq .done "$dir/body")" != true ] || return 0
        sleep 0.1
    done
    fail "not done: $(cat "$dir/body")"
}

expect() {
    [ "$1" = "$2" ] || fail "'$1' where '$2' was due"
}

# --- an instance with one cluster
g instances create i1 --display-name='First one' --cluster-config=id=i1-c1,zone=us-central1-b,nodes=1
g instances describe i1
out '.state == "READY" and .displayName == "First one"'
g instances list
out '[.[].name | sub(".*/"; "")] | sort == ["i1", "lab"]'
expect "$(runs i1)" i1-c1
g_fails 'is the subject of a conflict' instances create i1 --display-name=Again --cluster-config=id=x1,zone=us-central1-b
g instances update i1 --display-name='Renamed'
g instances describe i1
out '.displayName == "Renamed"'

cbt createtable t
cbt createfamily t pos
cbt setgcpolicy t pos maxversions=3
for i in $(seq 20); do cbt set t "bus#$i" pos:lat="$i"; done
expect "$(cbt count t)" 20
cbt read t prefix='bus#7' | grep -q '"7"' || fail 'the row is read'

# --- a second zone: the data is there when the operation is done
g_fails 'same zone' clusters create i1-c2 --instance=i1 --zone=us-central1-b
g clusters create i1-c2 --instance=i1 --zone=us-east1-c --num-nodes=1
out '.state == "READY"'
expect "$(runs i1)" 'i1-c1 i1-c2'
g clusters list --instances=i1
out '[.[].name | sub(".*/"; "")] | sort == ["i1-c1", "i1-c2"]'
g app-profiles create second --instance=i1 --route-to=i1-c2
expect "$(keys t second)" 20
cbt set t 'bus#21' app-profile=second pos:lat=21
cbt waitforreplication t
g tables describe t --instance=i1 --view=replication
out '.clusterStates | [.[].replicationState] == ["READY", "READY"]'

# --- app profiles
g app-profiles create any --instance=i1 --route-any
g app-profiles create tx --instance=i1 --route-to=i1-c1 --transactional-writes
g_fails 'use --force' app-profiles update tx --instance=i1 --route-to=i1-c2
g app-profiles update tx --instance=i1 --route-to=i1-c2 --force
g app-profiles list --instance=i1
out '[.[].name | sub(".*/"; "")] | sort == ["any", "default", "second", "tx"]'
g app-profiles describe tx --instance=i1
out '.singleClusterRouting == {"clusterId": "i1-c2", "allowTransactionalWrites": true}'
g_fails 'FAILED_PRECONDITION' clusters delete i1-c2 --instance=i1
g_fails 'use --force' app-profiles delete any --instance=i1
g app-profiles delete any --instance=i1 --force

# --- tables come back
g tables list --instances=i1
out '[.[].name | sub(".*/"; "")] == ["t"]'
g tables delete t --instance=i1
g_fails 'NOT_FOUND' tables describe t --instance=i1
g tables undelete t --instance=i1
g tables describe t --instance=i1
out '.columnFamilies.pos.gcRule.maxNumVersions == 3'
expect "$(cbt count t)" 21

# --- backups
g backups create b1 --instance=i1 --cluster=i1-c1 --table=t --retention-period=2w
g backups list --instance=i1
out 'length == 1 and .[0].state == "READY"'
g backups describe b1 --instance=i1 --cluster=i1-c1
out '.state == "READY" and (.sizeBytes | tonumber) > 0 and (.sourceTable | endswith("/tables/t"))'
cbt deleterow t 'bus#1'
cbt set t 'bus#2' pos:lat=changed
g tables restore --source=b1 --source-cluster=i1-c1 --source-instance=i1 \
    --destination=back --destination-instance=i1
expect "$(cbt count back)" 21
cbt lookup back 'bus#2' | grep -q '"2"' || fail 'the backup has what was there when it was made'
cbt waitforreplication back
expect "$(keys back second)" 21
g backups copy --source-backup=b1 --source-cluster=i1-c1 --source-instance=i1 \
    --destination-backup=b2 --destination-cluster=i1-c2 --destination-instance=i1 --retention-period=1w
g backups list --instance=i1 --cluster=i1-c2
out 'length == 1 and .[0].state == "READY" and (.[0].sourceBackup | endswith("/backups/b1"))'

# --- operations, hot tablets, sizes
g operations list --instance=i1
out 'length >= 5 and all(.[]; .done)'
operation=$(jq -r '.[0].name' "$dir/out")
g operations describe "$operation"
out '.done'
g hot-tablets list i1-c1 --instance=i1
g clusters update i1-c1 --instance=i1 --num-nodes=3
out '.serveNodes == 3'

# --- without waiting
g clusters create i1-c3 --instance=i1 --zone=europe-west1-b --num-nodes=1 --async
ended "$(begun)"
answers 200 '.response.state == "READY" and .metadata.tables["projects/atoll/instances/i1/tables/t"].state == "COMPLETED"'
expect "$(runs i1)" 'i1-c1 i1-c2 i1-c3'
g clusters update i1-c3 --instance=i1 --num-nodes=2 --async
g clusters describe i1-c3 --instance=i1
out '.serveNodes == 2'
g app-profiles create third --instance=i1 --route-to=i1-c3
g app-profiles update third --instance=i1 --route-any --async
expect "$(keys t third)" 20
g app-profiles delete third --instance=i1 --force
g clusters delete i1-c3 --instance=i1
g backups create b3 --instance=i1 --cluster=i1-c1 --table=t --retention-period=1d --async
ended "$(begun)"
answers 200 '.response.state == "READY"'
g tables restore --source=b3 --source-cluster=i1-c1 --source-instance=i1 \
    --destination=later --destination-instance=i1 --async
ended "$(begun)"
answers 200 '.response.name | endswith("/tables/later")'
g backups delete b3 --instance=i1 --cluster=i1-c1
g instances create i2 --display-name=Second --cluster-config=id=i2-c1,zone=us-central1-b --async
operation=$(begun)
ended "$operation"
answers 200 '.response | .state == "READY" and .displayName == "Second"'

# --- the router dies: what was done can be read, what was begun goes on or never was
rest POST v2/projects/atoll/instances '{"instanceId":"i3","instance":{"displayName":"Third"},
    "clusters":{"i3-c1":{"location":"projects/atoll/locations/us-central1-b"}}}'
answers 200 '.name | startswith("operations/projects/atoll/instances/i3/")'
half=$(jq -r .name "$dir/body")
router_again
g instances list
out '[.[].name | sub(".*/"; "")] | contains(["i1", "i2", "lab"])'
g operations describe "$operation"
out '.done and .response.displayName == "Second"'
g operations list --instance=i1
out 'length >= 5 and all(.[]; .done)'
ended "$half"
if [ "$status" = 200 ]; then
    answers 200 '.response.state == "READY"'
    expect "$(runs i3)" i3-c1
    g instances delete i3
else
    answers 404 '.error.status == "NOT_FOUND"'
    rest GET v2/projects/atoll/instances/i3
    answers 404 '.error.status == "NOT_FOUND"'
fi
expect "$(runs i3)" ''
g instances delete i2
expect "$(runs i2)" ''

# --- a cluster goes, then all
g app-profiles update tx --instance=i1 --route-to=i1-c1 --force
g app-profiles update second --instance=i1 --route-to=i1-c1 --force
g_fails 'FAILED_PRECONDITION' instances delete i1
g backups delete b2 --instance=i1 --cluster=i1-c2
cbt set t 'last' pos:lat=last
g clusters delete i1-c2 --instance=i1
expect "$(runs i1)" i1-c1
cbt lookup t last | grep -q '"last"' || fail 'what the cluster that left had is here'
g_fails 'FAILED_PRECONDITION' clusters delete i1-c1 --instance=i1
g backups delete b1 --instance=i1 --cluster=i1-c1
g instances delete i1
g_fails 'NOT_FOUND' instances describe i1
expect "$(runs i1)" ''
[ ! -e "$state/instances/i1" ] || fail 'its files are gone'
expect "$(runs lab)" lab-c1
echo "instances: passed"
