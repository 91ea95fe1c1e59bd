/* Requests to make an instance: what is refused, and what is told of the operation. */
#include "routing/proxy/operation.h"

#include "base/limits.h"
#include "google/longrunning/operations.pb-c.h"
#include "support/test.h"
#include "wire/proto_alloc.h"

struct request_case {
    const char *name;
    const char *parent;
    const char *id;
    const char *display_name;
    const char *clusters[3][2]; /* id, location; NULL ends */
    enum at_code code;
};

#define LOCATION(zone) "projects/p-1/locations/" zone

static const struct request_case CASES[] = {
    {"one cluster is enough", "projects/p-1", "i1", "N", {{"c1", LOCATION("z1")}}, AT_OK},
    {"two in two zones",
     "projects/p-1",
     "i1",
     "N",
     {{"c1", LOCATION("z1")}, {"c2", LOCATION("z2")}},
     AT_OK},
    {"no parent", "", "i1", "N", {{"c1", LOCATION("z1")}}, AT_INVALID_ARGUMENT},
    {"no project", "projects/", "i1", "N", {{"c1", LOCATION("z1")}}, AT_INVALID_ARGUMENT},
    {"no id", "projects/p-1", "", "N", {{"c1", LOCATION("z1")}}, AT_INVALID_ARGUMENT},
    {"an id that is a path",
     "projects/p-1",
     "../x",
     "N",
     {{"c1", LOCATION("z1")}},
     AT_INVALID_ARGUMENT},
    {"no display name", "projects/p-1", "i1", "", {{"c1", LOCATION("z1")}}, AT_INVALID_ARGUMENT},
    {"no cluster", "projects/p-1", "i1", "N", {{NULL, NULL}}, AT_INVALID_ARGUMENT},
    {"a bad cluster id", "projects/p-1", "i1", "N", {{"C_1", LOCATION("z1")}}, AT_INVALID_ARGUMENT},
    {"the router's name",
     "projects/p-1",
     "i1",
     "N",
     {{"router", LOCATION("z1")}},
     AT_INVALID_ARGUMENT},
    {"no location", "projects/p-1", "i1", "N", {{"c1", ""}}, AT_INVALID_ARGUMENT},
    {"one zone twice",
     "projects/p-1",
     "i1",
     "N",
     {{"c1", LOCATION("z1")}, {"c2", LOCATION("z1")}},
     AT_FAILED_PRECONDITION},
    {"one cluster twice",
     "projects/p-1",
     "i1",
     "N",
     {{"c1", LOCATION("z1")}, {"c1", LOCATION("z2")}},
     AT_INVALID_ARGUMENT},
};

static Google__Bigtable__Admin__V2__CreateInstanceRequest *make(const struct request_case *c,
                                                                struct at_arena *arena)
{
    Google__Bigtable__Admin__V2__CreateInstanceRequest *r =
        AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__CreateInstanceRequest);
    google__bigtable__admin__v2__create_instance_request__init(r);
    r->parent = at_arena_printf(arena, "%s", c->parent);
    r->instance_id = at_arena_printf(arena, "%s", c->id);
    r->instance = AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Instance);
    google__bigtable__admin__v2__instance__init(r->instance);
    r->instance->display_name = at_arena_printf(arena, "%s", c->display_name);
    r->clusters = AT_ARENA_ARRAY(
        arena, Google__Bigtable__Admin__V2__CreateInstanceRequest__ClustersEntry *, 3);
    for (size_t i = 0; i < 3 && c->clusters[i][0]; i++) {
        Google__Bigtable__Admin__V2__CreateInstanceRequest__ClustersEntry *e =
            AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__CreateInstanceRequest__ClustersEntry);
        google__bigtable__admin__v2__create_instance_request__clusters_entry__init(e);
        e->key = at_arena_printf(arena, "%s", c->clusters[i][0]);
        e->value = AT_ARENA_NEW(arena, Google__Bigtable__Admin__V2__Cluster);
        google__bigtable__admin__v2__cluster__init(e->value);
        e->value->location = at_arena_printf(arena, "%s", c->clusters[i][1]);
        r->clusters[r->n_clusters++] = e;
    }
    return r;
}

static void requests_are_checked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct at_arena arena;
        struct at_error error = {0};
        at_arena_init(&arena, 4 * AT_KIB);
        enum at_code code = at_operation_check(make(&CASES[i], &arena), &error);
        if (code != CASES[i].code)
            fail_msg("%s: %s %s", CASES[i].name, at_code_name(code), error.msg);
        at_arena_deinit(&arena);
    }
}

static Google__Longrunning__Operation *
pack(uint64_t end_ns, const struct at_error *error, struct at_arena *arena)
{
    const struct at_operation_facts facts = {.name = AT_LIT("operations/x/operations/1"),
                                             .request = make(&CASES[0], arena),
                                             .begin_ns = UINT64_C(1500000000),
                                             .end_ns = end_ns,
                                             .error = error};
    Google__Longrunning__Operation *o = at_proto_unpack(
        arena, &google__longrunning__operation__descriptor, at_operation_pack(&facts, arena));
    assert_non_null(o);
    assert_string_equal(o->name, "operations/x/operations/1");
    return o;
}

static void an_operation_is_told_with_its_request_and_its_end(void **state)
{
    (void)state;
    struct at_arena arena;
    const struct at_error error = {.code = AT_UNAVAILABLE, .msg = "no room"};
    at_arena_init(&arena, 4 * AT_KIB);
    assert_false(pack(0, NULL, &arena)->done);
    Google__Longrunning__Operation *o = pack(5, NULL, &arena);
    assert_true(o->done);
    assert_int_equal(o->result_case, GOOGLE__LONGRUNNING__OPERATION__RESULT_RESPONSE);
    Google__Bigtable__Admin__V2__Instance *instance =
        at_proto_unpack(&arena, &google__bigtable__admin__v2__instance__descriptor,
                        at_proto_bytes(o->response->value));
    assert_string_equal(instance->name, "projects/p-1/instances/i1");
    assert_int_equal(instance->state, GOOGLE__BIGTABLE__ADMIN__V2__INSTANCE__STATE__READY);
    Google__Bigtable__Admin__V2__CreateInstanceMetadata *metadata =
        at_proto_unpack(&arena, &google__bigtable__admin__v2__create_instance_metadata__descriptor,
                        at_proto_bytes(o->metadata->value));
    assert_string_equal(metadata->original_request->instance_id, "i1");
    assert_int_equal(metadata->request_time->seconds, 1);
    assert_int_equal(metadata->request_time->nanos, 500000000);
    o = pack(5, &error, &arena);
    assert_int_equal(o->result_case, GOOGLE__LONGRUNNING__OPERATION__RESULT_ERROR);
    assert_int_equal(o->error->code, AT_UNAVAILABLE);
    assert_string_equal(o->error->message, "no room");
    at_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_checked),
        cmocka_unit_test(an_operation_is_told_with_its_request_and_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
