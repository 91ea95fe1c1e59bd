#include "support/admin_fixture.h"

/* ModifyColumnFamilies, from request bytes to answer bytes. */

#define MODIFY "ModifyColumnFamilies", "1:$t "
#define CREATE_T(fields) "CreateTable", "1:" AFX_INSTANCE " 2:t 3{" fields "}"
#define PLAIN(name) "3{1:" name " 2{}}"
#define AGED(name, seconds) "3{1:" name " 2{1{2{1=" seconds "}}}}"
#define ENTRY(name, value) "column_families{key:" name " value{" value "}} "
#define SHOWS(families) "name:" AFX_T " " families "granularity:MILLIS"
#define RELAXED                                                                          \
    "Cannot relax pure age-based GC for a replicated family (f). If you must relax the " \
    "age constraint, unreplicate the instance and try again."
#define SET_F "MutateRow", "1:$t 2:r 3{1{1:f 2:q 3=1000 4:v}}"

static struct afx_case cases[] = {
    {"families are created, changed and dropped in one request, in order",
     {{CREATE_T(PLAIN("f")), AT_OK, NULL},
      {MODIFY "2{1:g 2{1{1=3}}} 2{1:f 4=1} 2{1:h 2{}} 2{1:h 3{1{1=1}}}", AT_OK,
       SHOWS(ENTRY("g", "gc_rule{max_num_versions:3}") ENTRY("h", "gc_rule{max_num_versions:1}"))},
      {"GetTable", "1:$t", AT_OK,
       SHOWS(ENTRY("g", "gc_rule{max_num_versions:3}")
                 ENTRY("h", "gc_rule{max_num_versions:1}"))}}},
    {"a request of which one part fails changes nothing",
     {{CREATE_T(PLAIN("f")), AT_OK, NULL},
      {MODIFY "2{1:g 2{}} 2{1:f 2{}}", AT_ALREADY_EXISTS, "\"f\" already exists"},
      {MODIFY "2{1:g 2{}} 2{1:f 4=1} 2{1:nosuch 4=1}", AT_NOT_FOUND, "\"nosuch\" not found"},
      {MODIFY "2{1:g 2{}} 2{1:'bad name!' 2{}}", AT_INVALID_ARGUMENT, "Family name"},
      {MODIFY "2{1:g 2{}} 2{1:h 2{1{1=0}}}", AT_INVALID_ARGUMENT, "max_num_versions"},
      {MODIFY "2{1:g 2{}} 2{1:h}", AT_INVALID_ARGUMENT, "modifications"},
      {MODIFY "2{1:g 2{}} 2{1:f 4=0}", AT_INVALID_ARGUMENT, "drop"},
      {"GetTable", "1:$t", AT_OK, SHOWS(ENTRY("f", ""))}}},
    {"what is not there is not found",
     {{MODIFY "2{1:g 2{}}", AT_NOT_FOUND, AFX_T},
      {CREATE_T(""), AT_OK, NULL},
      {MODIFY "2{1:f 3{1{1=1}}}", AT_NOT_FOUND, "\"f\""},
      {MODIFY "2{1:f 4=1}", AT_NOT_FOUND, "\"f\""},
      {MODIFY "2{1:f 2{}} 2{1:f 4=1} 2{1:f 3{}}", AT_NOT_FOUND, "\"f\""},
      {"ModifyColumnFamilies", "1:projects/p/instances/j/tables/t", AT_NOT_FOUND, "instances/j"}}},
    {"a mask says what an update changes; without one it is the rule",
     {{CREATE_T("3{1:f 2{1{1=1} 3{6{4{}}}}}"), AT_OK, NULL},
      {MODIFY "2{1:f 3{1{1=2}}}", AT_OK,
       SHOWS(ENTRY("f", "gc_rule{max_num_versions:2} value_type{aggregate_type{sum{}}}"))},
      {MODIFY "2{1:f 3{1{1=3}} 6{1:gcRule}}", AT_OK, NULL},
      {MODIFY "2{1:f 3{} 6{1:gc_rule}}", AT_OK,
       SHOWS(ENTRY("f", "value_type{aggregate_type{sum{}}}"))},
      {MODIFY "2{1:f 3{3{6{4{}}}} 6{1:value_type}}", AT_OK, NULL},
      {MODIFY "2{1:f 3{3{6{6{}}}} 6{1:value_type}}", AT_INVALID_ARGUMENT, "Immutable"},
      {MODIFY "2{1:f 3{} 6{1:value_type}}", AT_INVALID_ARGUMENT, "Immutable"},
      {MODIFY "2{1:f 3{} 6{1:nonsense}}", AT_INVALID_ARGUMENT, "nonsense"}}},
    {"the age rule of a replicated family is relaxed only by force",
     {{CREATE_T(AGED("f", "100")), AT_OK, NULL},
      {MODIFY "2{1:f 3{1{2{1=101}}}}", AT_FAILED_PRECONDITION, RELAXED},
      {MODIFY "2{1:f 3{}}", AT_FAILED_PRECONDITION, RELAXED},
      {MODIFY "2{1:f 3{1{2{1=99}}}}", AT_OK, NULL},
      {MODIFY "2{1:f 3{1{2{1=101}}}} 3=1", AT_OK,
       SHOWS(ENTRY("f", "gc_rule{max_age{seconds:101}}"))},
      {MODIFY "2{1:f 3{1{4{1{1=2} 1{2{1=101}}}}}} ", AT_OK, NULL}}},
    {"a family dropped and made again has none of its old cells",
     {{CREATE_T(PLAIN("f") PLAIN("g")), AT_OK, NULL},
      {SET_F, AT_OK, NULL},
      {"MutateRow", "1:$t 2:r 3{1{1:g 2:q 3=1000 4:v}}", AT_OK, NULL},
      {MODIFY "2{1:f 4=1}", AT_OK, NULL},
      {"rows", "t", AT_OK, "r: g:q@1000=v|"},
      {SET_F, AT_NOT_FOUND, "column family not found"},
      {MODIFY "2{1:f 2{}}", AT_OK, NULL},
      {"rows", "t", AT_OK, "r: g:q@1000=v|"},
      {SET_F, AT_OK, NULL},
      {"rows", "t", AT_OK, "r: f:q@1000=v g:q@1000=v|"}}},
    {"dropping and making again in one request loses the old cells as well",
     {{CREATE_T(PLAIN("f")), AT_OK, NULL},
      {SET_F, AT_OK, NULL},
      {MODIFY "2{1:f 4=1} 2{1:f 2{3{6{4{}}}}}", AT_OK,
       SHOWS(ENTRY("f", "value_type{aggregate_type{sum{}}}"))},
      {"rows", "t", AT_OK, ""},
      {SET_F, AT_INVALID_ARGUMENT, "aggregate"}}},
    {"every aggregate can be the type of a family",
     {{CREATE_T("3{1:s 2{3{6{1{5{1{1{}}}} 4{}}}}} 3{1:h 2{3{6{5{}}}}} 3{1:i 2{3{6{7{}}}}} "
                "3{1:m 2{3{6{6{}}}}}"),
       AT_OK,
       SHOWS(ENTRY("h", "value_type{aggregate_type{hllpp_unique_count{}}}") ENTRY(
           "i", "value_type{aggregate_type{min{}}}") ENTRY("m", "value_type{aggregate_type{max{}}}")
                 ENTRY("s",
                       "value_type{aggregate_type{"
                       "input_type{int64_type{encoding{big_endian_bytes{}}}} sum{}}}"))}}},
    {"a request without modifications changes nothing",
     {{CREATE_T(PLAIN("f")), AT_OK, NULL}, {MODIFY, AT_OK, SHOWS(ENTRY("f", ""))}}},
};

int main(void)
{
    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), NULL, 0);
}
