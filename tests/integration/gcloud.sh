#!/bin/bash
# gcloud.sh: administration over REST: error bodies by curl, then a session with real `gcloud
# bigtable` where that is installed. Each step's outcome is checked.
set -euo pipefail
cd "$(dirname "$0")/../.."
config=configs/three-zones.yaml
. tests/support/rest.sh
instance=v2/projects/atoll/instances/lab

rest GET "$instance/tables/nobody"
answers 404 '.error | .code == 404 and .status == "NOT_FOUND" and (.message | test("nobody"))'
rest GET v2/projects/atoll/nothing
answers 404 '.error.status == "NOT_FOUND"'
rest POST "$instance/tables" '{"tableId":"t","table":{"columnFamilies":{"f":{"gcRul":{}}}}}'
answers 400 '.error | .status == "INVALID_ARGUMENT" and (.message | test("gcRul"))'
rest POST "$instance/tables" '{"tableId":'
answers 400 '.error.status == "INVALID_ARGUMENT"'
rest GET "$instance/tables?nothing=1"
answers 400 '.error.message | test("nothing")'
rest DELETE "$instance"
answers 400 '.error | .status == "FAILED_PRECONDITION" and (.message | test("atoll down"))'
rest POST "$instance/tables" '{"table_id":"curl","table":{"column_families":{"f":{"gc_rule":{"maxAge":"3.5s"}}}},"initialSplits":[{"key":"YQ=="}]}'
answers 200 '(.name | endswith("/tables/curl")) and .columnFamilies.f.gcRule.maxAge == "3.500s"'
rest POST "$instance/tables" '{"tableId":"curl"}'
answers 409 '.error.status == "ALREADY_EXISTS"'
rest POST "$instance/tables/curl:modifyColumnFamilies" '{"modifications":[{"id":"g","create":{}},{"id":"f","drop":true}]}'
answers 200 '.columnFamilies | keys == ["g"]'
rest POST "$instance/tables/curl:dropRowRange" '{"rowKeyPrefix":"-_8"}'
answers 200 '. == {}'
rest POST "$instance/tables/curl:generateConsistencyToken" '{}'
answers 200 '.consistencyToken | length > 0'
token=$(jq -c '{consistencyToken}' "$dir/body")
for _ in $(seq 600); do
    rest POST "$instance/tables/curl:checkConsistency" "$token"
    [ "$(jq -r .consistent "$dir/body")" = true ] && break
    sleep 0.1
done
answers 200 '.consistent'
rest DELETE "$instance/tables/curl?alt=json"
answers 200 '. == {}'
rest POST "$instance/appProfiles?appProfileId=c&ignoreWarnings=False" '{"multiClusterRoutingUseAny":{}}'
answers 200 '.standardIsolation.priority == "PRIORITY_HIGH" and .multiClusterRoutingUseAny == {}'
rest DELETE "$instance/appProfiles/c?ignoreWarnings=False"
answers 400 '.error | .status == "FAILED_PRECONDITION" and (.details[0] | ."@type" == "type.googleapis.com/google.rpc.PreconditionFailure"
    and (.violations[0].type | startswith("CLOUD_BIGTABLE_APP_PROFILE_WARNING")))'
rest DELETE "$instance/appProfiles/c?ignoreWarnings=True"
answers 200 '. == {}'
head -c 5000000 /dev/zero | tr '\0' ' ' >"$dir/large"
rest POST "$instance/tables" "@$dir/large"
answers 400 '.error.message | test("too large")'
curl -sSf "${base}healthz" >/dev/null || fail 'the router serves after all that'
echo "curl: passed"

command -v gcloud >/dev/null || { echo "SKIP: no gcloud"; exit 0; }
g instances list
out 'length == 1 and (.[0].name | endswith("/instances/lab"))'
g instances describe lab
out '.state == "READY"'
g clusters list --instances=lab
out '[.[].name | sub(".*/"; "")] | sort == ["lab-c1", "lab-c2", "lab-c3"]'
g clusters describe lab-c1 --instance=lab
out '.state == "READY" and (.location | length > 0)'

g tables create t --instance=lab '--column-families=cf1,cf2:maxversions=5||maxage=1d,cf3:maxversions=2&&maxage=10s' --splits=a,b
g tables list --instances=lab
out '[.[].name | sub(".*/"; "")] == ["t"]'
g tables describe t --instance=lab --view=schema
out '(.columnFamilies | keys == ["cf1", "cf2", "cf3"]) and .columnFamilies.cf3.gcRule.intersection.rules[1].maxAge == "10s"'
g tables update t --instance=lab --deletion-protection
out '.deletionProtection'
g_fails 'FAILED_PRECONDITION' tables delete t --instance=lab
g tables update t --instance=lab --no-deletion-protection
g tables delete t --instance=lab
g_fails 'NOT_FOUND' tables describe t --instance=lab

g app-profiles create any --instance=lab --route-any --description='of gcloud'
g app-profiles create one --instance=lab --route-to=lab-c1 --transactional-writes
g app-profiles list --instance=lab
out '[.[].name | sub(".*/"; "")] | contains(["any", "one", "default"])'
g app-profiles describe any --instance=lab
out '.description == "of gcloud" and .multiClusterRoutingUseAny and .standardIsolation'
g_fails 'use --force' app-profiles update one --instance=lab --route-to=lab-c2 --transactional-writes
g app-profiles update one --instance=lab --route-to=lab-c2 --transactional-writes --force
g app-profiles describe one --instance=lab
out '.singleClusterRouting == {"clusterId": "lab-c2", "allowTransactionalWrites": true}'
g app-profiles update one --instance=lab --route-any --force
g app-profiles describe one --instance=lab
out '.multiClusterRoutingUseAny == {}'
g_fails 'use --force' app-profiles delete one --instance=lab
g app-profiles delete one --instance=lab --force
g_fails 'NOT_FOUND' app-profiles describe one --instance=lab

rest PATCH "$instance/appProfiles/any?updateMask=description&ignoreWarnings=True" '{"description":"changed"}'
answers 200 '.response."@type" == "type.googleapis.com/google.bigtable.admin.v2.AppProfile"'
operation=$(jq -r .name "$dir/body")
g operations describe "$operation"
out '.done and .response.description == "changed"'
echo "gcloud: passed"
