#include "cluster/control/cluster_join.h"

#include "support/admin_fixture.h"
#include "wire/proto_alloc.h"

#define C3 AFX_INSTANCE "/clusters/c3"
#define PLAN "1:c3 2{4=2} 3{1:c3 2:z3} 4{1:" AFX_INSTANCE " 2:c3}"
#define JOIN "1{1:c3 4:10.0.0.3 5=7001 6=7002}"

static struct afx_case cases[] = {
    {"what was created for nobody to start is CREATING, and has its zone and id",
     {{"AddCluster", PLAN, AT_OK, NULL},
      {"GetCluster", "1:" C3, AT_OK,
       "name:" C3 " location:projects/p/locations/z3 state:CREATING serve_nodes:2 "
       "default_storage_type:SSD"},
      {"AddCluster", PLAN, AT_ALREADY_EXISTS, "c3"},
      {"AddCluster", "1:c4 2{4=2} 3{1:c4 2:z3} 4{}", AT_FAILED_PRECONDITION, "same zone"},
      {"AddCluster", "1:c4 2{4=2} 3{1:c4 2:z4} 4{}", AT_OK, NULL}}},
    {"only what was created joins",
     {{"Join", JOIN, AT_NOT_FOUND, "create it first"},
      {"Join", "1{1:c2 4:10.0.0.3 5=7001 6=7002}", AT_NOT_FOUND, "create it first"}}},
    {"it joins from one place",
     {{"AddCluster", PLAN, AT_OK, NULL},
      {"Join", JOIN, AT_OK, NULL},
      {"Join", "1{1:c3 4:10.0.0.3 5=7001 6=7003}", AT_ALREADY_EXISTS, "10.0.0.3:7001"},
      {"Join", "1{1:c3 4:10.0.0.3 5=7003 6=7002}", AT_ALREADY_EXISTS, "10.0.0.3:7001"},
      {"Join", "1{1:c3 4:10.0.0.4 5=7001 6=7002}", AT_ALREADY_EXISTS, "10.0.0.3:7001"}}},
    {"one that a launcher starts has its number already",
     {{"AddCluster", "1:c3 2{4=2} 3{1:c3 2:z3 3=3 4:127.0.0.1 5=1 6=2} 4{}", AT_OK, NULL},
      {"Join", JOIN, AT_ALREADY_EXISTS, "127.0.0.1:1"}}},
    {"a place has a host and two ports",
     {{"Join", "", AT_INVALID_ARGUMENT, "address"},
      {"Join", "1{1:c3 5=7001 6=7002}", AT_INVALID_ARGUMENT, "address"},
      {"Join", "1{1:c3 4:h 6=7002}", AT_INVALID_ARGUMENT, "address"},
      {"Join", "1{1:c3 4:h 5=65536 6=7002}", AT_INVALID_ARGUMENT, "address"},
      {"Join", "1{1:c3 4:h 5=7001}", AT_INVALID_ARGUMENT, "address"},
      {"Join", "1{1:C 4:h 5=7001 6=7002}", AT_INVALID_ARGUMENT, "cluster id"}}},
};

static const Atoll__V1__JoinResponse *join(struct afx *s)
{
    struct afx_call c;

    afx_call_init(&c, s);
    (void)afx_start(&c, "Join", JOIN, 0);
    afx_finish(&c);
    assert_int_equal(c.code, AT_OK);
    const Atoll__V1__JoinResponse *out =
        at_proto_unpack(&s->arena, &atoll__v1__join_response__descriptor, at_buf_slice(&c.bytes));
    afx_call_deinit(&c);
    assert_non_null(out);
    return out;
}

static void it_is_told_its_number_and_the_members(void **state)
{
    struct afx *s = at_alloc(sizeof(*s));

    (void)state;
    afx_open(s);
    afx_run_step(s, &(struct afx_step){"AddCluster", PLAN, AT_OK, NULL});
    const Atoll__V1__JoinResponse *first = join(s), *again = join(s);
    assert_true(first->member_id >= 1 << 20);
    assert_true(first->member_id <= 999999999);
    assert_int_equal(first->member_id, again->member_id);
    assert_string_equal(first->zone, "z3");
    assert_string_equal(again->zone, "z3");
    assert_int_equal(again->members->n_members, 3);
    assert_string_equal(again->members->members[2]->cluster_id, "c3");
    assert_string_equal(again->members->members[2]->host, "10.0.0.3");
    assert_int_equal(again->members->members[2]->member_id, first->member_id);
    at_store_view(s->fx.store, &s->now);
    bool member = false;
    for (uint32_t i = 0; i < s->now.member_count; i++)
        member = member || (s->now.members[i].id.v == first->member_id && s->now.members[i].active);
    assert_true(member);
    afx_close(s);
    at_free(s);
}

static void numbers_differ(void **state)
{
    uint32_t seen[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct afx *s = at_alloc(sizeof(*s));
        afx_open(s);
        afx_run_step(s, &(struct afx_step){"AddCluster", PLAN, AT_OK, NULL});
        seen[i] = join(s)->member_id;
        afx_close(s);
        at_free(s);
    }
    assert_true(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
}

static void what_never_joined_is_no_member(void **state)
{
    struct afx *s = at_alloc(sizeof(*s));

    (void)state;
    afx_open(s);
    afx_run_step(s, &(struct afx_step){"AddCluster", PLAN, AT_OK, NULL});
    at_store_view(s->fx.store, &s->now);
    assert_int_equal(s->now.member_count, 1);
    afx_close(s);
    at_free(s);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(it_is_told_its_number_and_the_members),
        cmocka_unit_test(numbers_differ),
        cmocka_unit_test(what_never_joined_is_no_member),
    };

    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), others, 3);
}
