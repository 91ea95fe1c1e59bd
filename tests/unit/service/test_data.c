#include "google/bigtable/v2/bigtable.pb-c.h"
#include "support/service_fixture.h"

/* The data API from request bytes to answer bytes. Each case starts with empty tables and is a few
 * steps; a step's outcome is, for ReadRows, the rows as text; for MutateRows the codes of the
 * entries; for others the answer as wire_text; and on an error a part of its message. */

struct step {
    const char *rpc; /* or "RPC NAME VALUE", with metadata */
    const char *request;
    enum at_code code;
    const char *out;
};

#define STEPS_MAX 8

struct data_case {
    const char *name;
    struct step steps[STEPS_MAX];
};

/* Requests on table t. */
#define MUTATE(row, mutations) "MutateRow", "1:$t 2:" row " " mutations
#define ON_A(row, mutations) "MutateRow", "1:$a 2:" row " " mutations
#define SET(family, qualifier, micros, value) \
    "3{1{1:" family " 2:" qualifier " 3=" micros " 4:" value "}}"
#define ADD(family, n) "3{5{1:" family " 2{8:q} 3{9=1000} 4{6=" n "}}}"
#define READ(fields) "ReadRows", "1:$t " fields
#define READ_A "ReadRows", "1:$a "
#define CHECK(row, fields) "CheckAndMutateRow", "1:$t 2:" row " " fields
#define CHECKED(predicate) CHECK("r", "6{" predicate "} 4{1{1:f 2:hit}}")
#define MODIFY(row, rules) "ReadModifyWriteRow", "1:$t 2:" row " " rules
#define NO_FAMILY "Requested column family not found"
#define NO_TABLE "Table not found: projects/p/instances/i/tables/no"
#define ROW_D                                                                                   \
    {                                                                                           \
        MUTATE("r",                                                                             \
               SET("f", "a", "2000", "2") SET("f", "a", "1000", "1") SET("f", "b", "1000", "3") \
                   SET("g", "a", "1000", "4") SET("g", "c", "3000", "5")),                      \
            AT_OK, ""                                                                           \
    }
#define ROWS_ABCD                                                                                \
    {                                                                                            \
        "MutateRows",                                                                            \
            "1:$t 2{1:a 2{1{1:f 2:q}}} 2{1:b 2{1{1:f 2:q}}} 2{1:c 2{1{1:f 2:q}}} 2{1:d 2{1{1:f " \
            "2:q}}}",                                                                            \
            AT_OK, "OK OK OK OK"                                                                 \
    }
#define REVERSED(fields) "ReadRows bigtable-features CAE=", "1:$t " fields

static const struct data_case cases[] = {
    /* --- writes --- */
    {"a row with one bad mutation is not applied at all",
     {{MUTATE("r2", SET("f", "q", "0", "v") SET("zz", "q", "0", "v")), AT_NOT_FOUND, NO_FAMILY},
      {READ(""), AT_OK, ""}}},
    {"a branch with one bad mutation is not applied at all",
     {{MUTATE("r", SET("f", "a", "1000", "v")), AT_OK, ""},
      {CHECK("r", "6{17=1} 4{1{1:f 2:x}} 4{1{1:zz 2:q}}"), AT_NOT_FOUND, NO_FAMILY},
      {READ(""), AT_OK, "r f:a@1000=v;"}}},
    {"an unknown family fails its entry alone, for good",
     {{"MutateRows", "1:$t 2{1:a 2{1{1:f 2:q}}} 2{1:b 2{1{1:zz 2:q}}} 2{1:c 2{4{}}}", AT_OK,
       "OK NOT_FOUND OK"},
      {READ(""), AT_OK, "a f:q@0=;"}}},
    {"timestamps that are not of milliseconds are refused",
     {{MUTATE("r", SET("f", "q", "-2", "v")), AT_INVALID_ARGUMENT, "Timestamps must be >= -1"},
      {MUTATE("r", SET("f", "q", "1", "v")), AT_INVALID_ARGUMENT, "granularity mismatch"},
      {MUTATE("r", SET("f", "q", "999", "v")), AT_INVALID_ARGUMENT, "granularity mismatch"},
      {MUTATE("r", SET("f", "q", "1001", "v")), AT_INVALID_ARGUMENT, "granularity mismatch"},
      {MUTATE("r", SET("f", "q", "9223372036854775807", "v")), AT_INVALID_ARGUMENT,
       "granularity mismatch"},
      {READ(""), AT_OK, ""}}},
    {"far timestamps are accepted and newest",
     {{MUTATE("r", SET("f", "q", "1000", "a") SET("f", "q", "9223372036854775000", "b")), AT_OK,
       ""},
      {MUTATE("r", SET("f", "q", "253402300800001000", "c")), AT_OK, ""},
      {READ(""), AT_OK, "r f:q@9223372036854775000=b f:q@253402300800001000=c f:q@1000=a;"}}},
    {"server time is cut to milliseconds",
     {{MUTATE("r", SET("f", "q", "-1", "v")), AT_OK, ""},
      {READ(""), AT_OK, "r f:q@" SFX_NOW "=v;"}}},
    {"a router may give the server time",
     {{"MutateRow atoll-write-micros 1600000000000999", "1:$t 2:r " SET("f", "q", "-1", "v"), AT_OK,
       ""},
      {"MutateRows atoll-write-micros 1600000000001999", "1:$t 2{1:s 2{1{1:f 2:q 3=-1}}}", AT_OK,
       "OK"},
      {READ(""), AT_OK, "r f:q@1600000000000000=v;s f:q@1600000000001000=;"}}},
    {"a write is not begun when the time that a router gave it is over",
     {{"MutateRow atoll-begin-micros 0", "1:$t 2:r " SET("f", "q", "-1", "v"), AT_UNAVAILABLE,
       "given up"},
      {READ(""), AT_OK, ""},
      {"MutateRow atoll-begin-micros 60000000", "1:$t 2:r " SET("f", "q", "1000", "v"), AT_OK, ""},
      {READ(""), AT_OK, "r f:q@1000=v;"}}},
    {"row keys are bounded",
     {{MUTATE("''", SET("f", "q", "0", "v")), AT_INVALID_ARGUMENT, "Row keys must be non-empty"},
      {MUTATE("*4097", SET("f", "q", "0", "v")), AT_INVALID_ARGUMENT, "4097"},
      {MUTATE("*4096", SET("f", "q", "0", "v")), AT_OK, ""}}},
    {"qualifiers are bounded",
     {{MUTATE("r", SET("f", "*16385", "0", "v")), AT_INVALID_ARGUMENT, "16385"},
      {MUTATE("r", SET("f", "*16384", "0", "v")), AT_OK, ""}}},
    {"a value beyond 100 MiB is refused",
     {{MUTATE("r", SET("f", "q", "0", "*104857601")), AT_INVALID_ARGUMENT, "104857601"}}},
    {"a request without mutations is refused",
     {{MUTATE("r", ""), AT_INVALID_ARGUMENT, "No mutations provided"},
      {CHECK("r", "6{17=1}"), AT_INVALID_ARGUMENT, "No mutations provided"},
      {"MutateRows", "1:$t", AT_INVALID_ARGUMENT, "No mutations provided"},
      {"MutateRows", "1:$t 2{1:a 2{1{1:f 2:q}}} 2{1:b}", AT_INVALID_ARGUMENT,
       "Error in field 'Entry list' : Error in element #1 : No mutations provided"},
      {READ(""), AT_OK, ""}}},
    {"a bad entry refuses the whole request",
     {{"MutateRows", "1:$t 2{1:a 2{1{1:f 2:q}}} 2{1:b 2{1{1:f 2:q 3=5}}}", AT_INVALID_ARGUMENT,
       "Error in field 'Entry list' : Error in element #1 : Error in field 'Mutation list' : Error "
       "in element #0 : Timestamp granularity mismatch"},
      {"MutateRows", "1:$t 2{1:a 2{1{1:f 2:q}}} 2{2{1{1:f 2:q}}}", AT_INVALID_ARGUMENT,
       "Row keys must be non-empty"},
      {READ(""), AT_OK, ""}}},
    {"a request repeated under its idempotency token is applied once",
     {{ON_A("r", ADD("sum", "5") " 8{1:01234567}"), AT_OK, ""},
      {ON_A("r", ADD("sum", "5") " 8{1:01234567 2{1=1700000000}}"), AT_OK, ""},
      {"MutateRows",
       "1:$a 2{1:r 2{5{1:sum 2{8:q} 3{9=1000} 4{6=5}}} 3{1:01234567}}"
       " 2{1:r 2{5{1:max 2{8:q} 3{9=1000} 4{6=5}}} 3{1:76543210}}",
       AT_OK, "OK OK"},
      {READ_A, AT_OK,
       "r max:q@1000=\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05 "
       "sum:q@1000=\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05;"}}},
    {"idempotency tokens that are refused",
     {{MUTATE("r", SET("f", "q", "0", "v") " 8{1:0123456}"), AT_INVALID_ARGUMENT,
       "at least 8 bytes, but got 7"},
      {MUTATE("r", SET("f", "q", "0", "v") " 8{}"), AT_INVALID_ARGUMENT, "idempotency"},
      {MUTATE("r", SET("f", "q", "0", "v") " 8{1:01234567 2{2=-1}}"), AT_INVALID_ARGUMENT,
       "start_time"},
      {MUTATE("r", SET("f", "q", "0", "v") " 8{1:01234567 2{1=1699999000}}"),
       AT_FAILED_PRECONDITION, "start_time"},
      {"MutateRows", "1:$t 2{1:r 2{4{}} 3{1:short}}", AT_INVALID_ARGUMENT,
       "Error in field 'Entry list' : Error in element #0 : Error in field 'idempotency'"},
      {"MutateRows", "1:$t 2{1:r 2{4{}} 3{1:01234567 2{1=1}}} 2{1:s 2{4{}}}", AT_OK,
       "FAILED_PRECONDITION OK"},
      {READ(""), AT_OK, ""}}},
    {"a string with a NUL in it is refused",
     {{MUTATE("r", "3{1{1:'f\\0x' 2:q}}"), AT_INVALID_ARGUMENT, "no valid"},
      {"MutateRow", "1:'projects/p/instances/i/tables/t\\0' 2:r 3{4{}}", AT_INVALID_ARGUMENT, ""},
      {READ("3{5:'f\\0'}"), AT_INVALID_ARGUMENT, "no valid"},
      {MUTATE("'r\\0'", SET("f", "'q\\0'", "0", "'v\\0'")), AT_OK, ""}}},
    {"ranges of a column are deleted",
     {{MUTATE("r",
              SET("f", "q", "1000", "1") SET("f", "q", "2000", "2") SET("f", "q", "3000", "3")
                  SET("f", "q", "4000", "4") SET("f", "q", "5000", "5")),
       AT_OK, ""},
      {MUTATE("r", "3{2{1:f 2:q 3{1=2000 2=4000}}}"), AT_OK, ""},
      {READ(""), AT_OK, "r f:q@5000=5 f:q@4000=4 f:q@1000=1;"},
      {MUTATE("r", "3{2{1:f 2:q 3{2=5000}}}"), AT_OK, ""},
      {READ(""), AT_OK, "r f:q@5000=5;"},
      {MUTATE("r", "3{2{1:f 2:q}}"), AT_OK, ""},
      {READ(""), AT_OK, ""}}},
    {"mutations apply in order",
     {{MUTATE("r", SET("f", "q", "1000", "1") "3{4{}}" SET("f", "q", "2000", "2")), AT_OK, ""},
      {READ(""), AT_OK, "r f:q@2000=2;"}}},
    {"deleting from a family that is not there is refused",
     {{MUTATE("r", "3{3{1:zz}}"), AT_NOT_FOUND, NO_FAMILY},
      {MUTATE("r", "3{2{1:zz 2:q}}"), AT_NOT_FOUND, NO_FAMILY},
      {MUTATE("r", "3{3{1:f}}"), AT_OK, ""}}},

    /* --- read-modify-write, check-and-mutate --- */
    {"rules start from nothing",
     {{MODIFY("r", "3{1:f 2:n 4=5} 3{1:f 2:s 3:xy} 3{1:f 2:z 3:''}"), AT_OK,
       "1{1:r 2{1:f 2{1:n 2{1=" SFX_NOW " 2:'\\0\\0\\0\\0\\0\\0\\0\\5'}} 2{1:s 2{1=" SFX_NOW
       " 2:xy}} 2{1:z 2{1=" SFX_NOW "}}}}"}}},
    {"rules see what earlier rules did",
     {{MODIFY("r", "3{1:f 2:s 3:a} 3{1:f 2:s 3:b}"), AT_OK,
       "1{1:r 2{1:f 2{1:s 2{1=" SFX_NOW " 2:ab}}}}"},
      {READ(""), AT_OK, "r f:s@" SFX_NOW "=ab;"}}},
    {"the answer lists columns in the order of a read",
     {{MODIFY("r", "3{1:g 2:b 3:1} 3{1:f 2:z 3:2} 3{1:f 2:a 3:3}"), AT_OK,
       "1{1:r 2{1:f 2{1:a 2{1=" SFX_NOW " 2:3}} 2{1:z 2{1=" SFX_NOW
       " 2:2}}} 2{1:g 2{1:b 2{1=" SFX_NOW " 2:1}}}}"}}},
    {"a future timestamp is kept",
     {{MUTATE("r", SET("f", "n", "4102444800000000", "'\\0\\0\\0\\0\\0\\0\\0\\1'")), AT_OK, ""},
      {MODIFY("r", "3{1:f 2:n 4=1}"), AT_OK,
       "1{1:r 2{1:f 2{1:n 2{1=4102444800000000 2:'\\0\\0\\0\\0\\0\\0\\0\\2'}}}}"}}},
    {"rules that say nothing are refused",
     {{MODIFY("r", ""), AT_INVALID_ARGUMENT, "No rules provided"},
      {MODIFY("r", "3{1:f 2:q}"), AT_INVALID_ARGUMENT, "must be set"},
      {MODIFY("''", "3{1:f 2:q 4=1}"), AT_INVALID_ARGUMENT, "non-empty"},
      {MODIFY("r", "3{1:zz 2:q 4=1}"), AT_NOT_FOUND, NO_FAMILY},
      {READ(""), AT_OK, ""}}},
    {"only 64-bit values can be incremented",
     {{MUTATE("r", SET("f", "q", "1000", "1")), AT_OK, ""},
      {MODIFY("r", "3{1:f 2:a 3:x} 3{1:f 2:q 4=1}"), AT_FAILED_PRECONDITION,
       "The increment operation can only be performed on 64-bit values"},
      {READ(""), AT_OK, "r f:q@1000=1;"}}},
    {"predicates, one",
     {{MUTATE("r", SET("f", "a", "1000", "1")), AT_OK, ""},
      {CHECK("r", "4{1{1:f 2:hit}}"), AT_OK, "1=1"},
      {CHECK("r", "5{1{1:f 2:miss}}"), AT_OK, "1=1"},
      {CHECK("nope", "6{17=1} 4{1{1:f 2:hit}}"), AT_OK, ""},
      {READ(""), AT_OK, "r f:a@1000=1 f:hit@0=;"}}},
    {"predicates, two",
     {{MUTATE("r", SET("f", "a", "1000", "1")), AT_OK, ""},
      {CHECKED("18=1"), AT_OK, ""},
      {CHECKED("1{1{17=1} 1{18=1}}"), AT_OK, ""},
      {CHECKED("2{1{18=1} 1{18=1}}"), AT_OK, ""},
      {CHECKED("10=1"), AT_OK, ""},
      {CHECKED("4:nope"), AT_OK, ""},
      {CHECKED("3{1{17=1}}"), AT_OK, ""}}},
    {"a bad predicate is refused",
     {{CHECKED("11=0"), AT_INVALID_ARGUMENT, "cells_per_row_limit_filter"},
      {CHECKED("77=0"), AT_UNIMPLEMENTED, "field 77"},
      {CHECK("''", "4{4{}}"), AT_INVALID_ARGUMENT, "non-empty"}}},
    {"the families of both branches and of the predicate must be there",
     {{CHECK("r", "6{17=1} 4{1{1:zz 2:q}} 5{1{1:f 2:q}}"), AT_NOT_FOUND, NO_FAMILY},
      {CHECK("r", "6{17=1} 4{1{1:f 2:q}} 5{1{1:zz 2:q}}"), AT_NOT_FOUND, NO_FAMILY},
      {CHECK("r", "6{17=1} 4{1{1:f 2:q}} 5{3{1:zz}}"), AT_NOT_FOUND, NO_FAMILY},
      {CHECK("r", "6{5:zz} 5{1{1:f 2:q}}"), AT_NOT_FOUND,
       "Error while reading table 'projects/p/instances/i/tables/t' : " NO_FAMILY},
      {CHECK("r", "6{5:'zz.*'} 4{1{1:f 2:p}}"), AT_OK, ""},
      {READ(""), AT_OK, ""}}},

    /* --- aggregates --- */
    {"sums, minima and maxima",
     {{ON_A("r", ADD("sum", "9") ADD("max", "9") ADD("min", "9")), AT_OK, ""},
      {ON_A("r", ADD("sum", "3") ADD("max", "3") ADD("min", "3")), AT_OK, ""},
      {READ_A, AT_OK,
       "r max:q@1000=\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x09 "
       "min:q@1000=\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x03 "
       "sum:q@1000=\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x0c;"}}},
    {"a unique count, in any type",
     {{ON_A("r", "3{5{1:hll 2{8:q} 3{9=1000} 4{2:atoll}}}"), AT_OK, ""},
      {ON_A("r", "3{5{1:hll 2{8:q} 3{9=1000} 4{8:atoll}}} 3{5{1:hll 2{8:q} 3{9=1000} 4{3:atoll}}}"),
       AT_OK, ""},
      {READ_A, AT_OK, "r hll:q@1000=HLL\\x01\\x0e\\x01aKP\\x81;"},
      {ON_A("r", ADD("hll", "5") "3{6{1:hll 2{8:q} 3{9=1000} 4{}}}"), AT_OK, ""},
      {ON_A("r", "3{6{1:hll 2{8:q} 3{9=1000} 4{8:'no state'}}}"), AT_INVALID_ARGUMENT,
       "the state of a unique count"},
      {ON_A("r", "3{5{1:hll 2{8:q} 3{9=1000}}}"), AT_INVALID_ARGUMENT, "input"},
      {ON_A("r", SET("hll", "q", "0", "v")), AT_INVALID_ARGUMENT, "SetCell"}}},
    {"plain cells and aggregates do not mix",
     {{ON_A("r", SET("sum", "q", "0", "abc")), AT_INVALID_ARGUMENT, ""},
      {MUTATE("r", ADD("f", "1")), AT_INVALID_ARGUMENT, ""},
      {ON_A("r", "3{5{1:sum 2{8:q} 3{9=0}}}"), AT_INVALID_ARGUMENT, "input"},
      {ON_A("r", "3{5{1:sum 2{8:q} 3{9=0} 4{8:abc}}}"), AT_INVALID_ARGUMENT, "64-bit integer"},
      {ON_A("r", "3{5{1:sum 2{8:q} 3{9=0} 4{3:12345678}}}"), AT_INVALID_ARGUMENT, ""},
      {"ReadModifyWriteRow", "1:$a 2:r 3{1:sum 2:q 4=1}", AT_FAILED_PRECONDITION, ""},
      {READ_A, AT_OK, ""}}},

    /* --- reads --- */
    {"a reversed scan wants the client's announcement",
     {ROWS_ABCD,
      {READ("7=1"), AT_UNIMPLEMENTED, "Client doesn't support reverse scans yet"},
      {REVERSED("4=3 7=1"), AT_OK, "d f:q@0=;c f:q@0=;b f:q@0=;"},
      {"ReadRows bigtable-features CAE", "1:$t 4=1 7=1", AT_OK, "d f:q@0=;"},
      {REVERSED("2{1:a 2{2:a 4:d}} 7=1"), AT_OK, "d f:q@0=;c f:q@0=;b f:q@0=;a f:q@0=;"}}},
    {"cells of a reversed row stay in order",
     {ROW_D,
      {REVERSED("7=1"), AT_OK, "r f:a@2000=2 f:a@1000=1 f:b@1000=3 g:a@1000=4 g:c@3000=5;"}}},
    {"an inverted range is refused",
     {{READ("2{2{1:c 3:a}}"), AT_INVALID_ARGUMENT,
       "Error in element #0: start_key must be less than end_key"}}},
    {"ranges and keys",
     {ROWS_ABCD,
      {READ("2{2{1:b 4:b}}"), AT_OK, "b f:q@0=;"},
      {READ("2{}"), AT_OK, "a f:q@0=;b f:q@0=;c f:q@0=;d f:q@0=;"},
      {READ("2{2{}}"), AT_OK, "a f:q@0=;b f:q@0=;c f:q@0=;d f:q@0=;"},
      {READ("2{2{1:c 3:''}}"), AT_OK, "c f:q@0=;d f:q@0=;"},
      {READ("2{2{1:c 4:''}}"), AT_OK, "c f:q@0=;d f:q@0=;"},
      {READ("2{1:d 1:a 1:nope 1:a 2{1:aa 3:c}}"), AT_OK, "a f:q@0=;b f:q@0=;d f:q@0=;"}}},
    {"rows that cannot be asked for",
     {{READ("2{1:''}"), AT_INVALID_ARGUMENT, "non-empty"},
      {READ("4=-1"), AT_INVALID_ARGUMENT, "rows_limit"}}},
    {"the limit counts rows with output",
     {ROWS_ABCD,
      {MUTATE("a", "3{4{}}"), AT_OK, ""},
      {READ("4=2"), AT_OK, "b f:q@0=;c f:q@0=;"},
      {READ("4=1 3{4:'[cd]'}"), AT_OK, "c f:q@0=;"}}},
    {"a family that the filter names must be there",
     {{READ("3{5:nosuchfam}"), AT_NOT_FOUND,
       "Error while reading table 'projects/p/instances/i/tables/t' : Requested column family not "
       "found"},
      {READ("3{5:'nosuchfam.*'}"), AT_OK, ""},
      {READ("3{5:f}"), AT_OK, ""}}},
    {"views are not ignored",
     {{"ReadRows", "9:v", AT_UNIMPLEMENTED, "authorized views"},
      {"ReadRows", "11:v", AT_UNIMPLEMENTED, "materialized views"},
      {"MutateRow", "1:$t 2:r 3{4{}} 6:v", AT_UNIMPLEMENTED, "authorized views"},
      {"MutateRows", "1:$t 2{1:r 2{4{}}} 5:v", AT_UNIMPLEMENTED, "authorized views"},
      {"SampleRowKeys", "1:$t 5:v", AT_UNIMPLEMENTED, "materialized views"},
      {"CheckAndMutateRow", "1:$t 2:r 4{4{}} 9:v", AT_UNIMPLEMENTED, "authorized views"},
      {"ReadModifyWriteRow", "1:$t 2:r 3{1:f 4=1} 6:v", AT_UNIMPLEMENTED, "authorized views"}}},
    {"tables whose names begin alike are apart",
     {{"MutateRow", "1:$tt 2:r 3{1{1:f 2:q}}", AT_OK, ""},
      {READ(""), AT_OK, ""},
      {"ReadRows", "1:$tt", AT_OK, "r f:q@0=;"}}},
    {"keys and qualifiers with slashes are not mixed up",
     {{MUTATE("a/b", SET("f", "q", "999000", "1")), AT_OK, ""},
      {MUTATE("a", SET("f", "b/q", "1000000", "2") SET("f", "b/q", "999000", "3")), AT_OK, ""},
      {READ(""), AT_OK, "a f:b/q@1000000=2 f:b/q@999000=3;a/b f:q@999000=1;"}}},
    {"statistics come when asked for, with an empty answer too",
     {{READ("6=2"), AT_OK, "stats 0 0 0 0"},
      ROW_D,
      {READ("6=2 3{11=2}"), AT_OK, "r f:a@2000=2 f:a@1000=1;stats 1 1 2 2"},
      {READ("6=1 3{11=1}"), AT_OK, "r f:a@2000=2;"}}},
    {"samples end with the end of the table",
     {{"SampleRowKeys", "1:$t", AT_OK, "last"},
      ROWS_ABCD,
      {"SampleRowKeys", "1:$t", AT_OK, "last"}}},

    /* --- filters --- */
    {"limits and offsets",
     {ROW_D,
      {READ("3{11=2}"), AT_OK, "r f:a@2000=2 f:a@1000=1;"},
      {READ("3{10=3}"), AT_OK, "r g:a@1000=4 g:c@3000=5;"},
      {READ("3{12=1}"), AT_OK, "r f:a@2000=2 f:b@1000=3 g:a@1000=4 g:c@3000=5;"},
      {READ("3{10=-1}"), AT_INVALID_ARGUMENT, "cells_per_row_offset_filter"},
      {READ("3{11=0}"), AT_INVALID_ARGUMENT,
       "Error in field 'cells_per_row_limit_filter' : argument must be > 0"},
      {READ("3{12=-1}"), AT_INVALID_ARGUMENT,
       "Error in field 'cells_per_column_limit_filter' : argument must be > 0"}}},
    {"bitmasks, and filters that are not known",
     {{MUTATE("r", SET("f", "a", "0", "1") SET("f", "b", "0", "2") SET("f", "c", "0", "33")), AT_OK,
       ""},
      {READ("3{20{1:1}}"), AT_OK, "r f:a@0=1;"},
      {READ("3{21=1}"), AT_UNIMPLEMENTED, "field 21 of RowFilter"},
      {READ("3{1{1{17=1} 1{99{1:x}}}}"), AT_UNIMPLEMENTED, "field 99 of RowFilter"}}},
    {"labels",
     {{MUTATE("r", SET("f", "a", "0", "1")), AT_OK, ""},
      {READ("3{19:lab-1}"), AT_OK, "r f:a@0=1#lab-1;"},
      {READ("3{19:abcdefghijklmnop}"), AT_INVALID_ARGUMENT, "apply_label_transformer"},
      {READ("3{19:'BAD LABEL'}"), AT_INVALID_ARGUMENT, "apply_label_transformer"}}},
    {"forms that are refused",
     {{READ("3{13=0}"), AT_INVALID_ARGUMENT, "strip_value_transformer"},
      {READ("3{16=0}"), AT_INVALID_ARGUMENT, "sink"},
      {READ("3{17=0}"), AT_INVALID_ARGUMENT, "pass_all_filter"},
      {READ("3{18=0}"), AT_INVALID_ARGUMENT, "block_all_filter must be true if set"},
      {READ("3{3{2{17=1}}}"), AT_INVALID_ARGUMENT, "predicate_filter"},
      {READ("3{1{1{17=1}}}"), AT_INVALID_ARGUMENT, "Chain must contain at least two RowFilters"},
      {READ("3{2{}}"), AT_INVALID_ARGUMENT, "Interleave must contain at least two RowFilters"}}},
    {"more forms that are refused",
     {{READ("3{14#0}"), AT_INVALID_ARGUMENT, "must be between 0.0 and 1.0"},
      {READ("3{14#1}"), AT_INVALID_ARGUMENT, "must be between 0.0 and 1.0"},
      {READ("3{9:*21000}"), AT_INVALID_ARGUMENT, "20480"},
      {READ("3{9:'('}"), AT_INVALID_ARGUMENT, "Error in field 'value_regex_filter' : "},
      {READ("3{7{2:a}}"), AT_INVALID_ARGUMENT, "column_range_filter"}}},
    {"copies count",
     {{MUTATE("r", SET("f", "a", "0", "1") SET("f", "b", "0", "2")), AT_OK, ""},
      {READ("3{2{1{17=1} 1{17=1}}}"), AT_OK, "r f:a@0=1 f:a@0=1 f:b@0=2 f:b@0=2;"},
      {READ("3{1{1{2{1{17=1} 1{17=1}}} 1{12=1}}}"), AT_OK, "r f:a@0=1 f:b@0=2;"},
      {READ("3{1{1{2{1{17=1} 1{17=1}}} 1{11=3}}}"), AT_OK, "r f:a@0=1 f:a@0=1 f:b@0=2;"}}},
    {"values",
     {{MUTATE("r", SET("f", "a", "0", "123")), AT_OK, ""},
      {READ("3{9:2}"), AT_OK, ""},
      {READ("3{9:'.2.'}"), AT_OK, "r f:a@0=123;"},
      {READ("3{1{1{13=1} 1{9:2}}}"), AT_OK, ""},
      {READ("3{1{1{13=1} 1{9:''}}}"), AT_OK, "r f:a@0=;"}}},
    {"conditions",
     {ROW_D,
      {READ("3{3{1{1{1{6:a} 1{9:nope}}} 2{17=1}}}"), AT_OK, ""},
      {READ("3{3{1{6:c} 2{5:g} 3{17=1}}}"), AT_OK, "r g:a@1000=4 g:c@3000=5;"},
      {READ("3{8{1=1001 2=1999}}"), AT_OK, ""},
      {READ("3{8{1=1001 2=2001}}"), AT_OK, "r f:a@2000=2;"}}},
    {"row key regexes match the whole key",
     {{"MutateRows", "1:$t 2{1:row1 2{1{1:f 2:q}}} 2{1:row2 2{1{1:f 2:q}}} 2{1:row3 2{1{1:f 2:q}}}",
       AT_OK, "OK OK OK"},
      {READ("3{4:'.+3'}"), AT_OK, "row3 f:q@0=;"},
      {READ("3{4:'row'}"), AT_OK, ""},
      {READ("3{4:'row2'}"), AT_OK, "row2 f:q@0=;"}}},

    /* --- names, profiles, other calls --- */
    {"a table that is not there",
     {{"ReadRows", "1:$no", AT_NOT_FOUND, NO_TABLE},
      {"SampleRowKeys", "1:$no", AT_NOT_FOUND, NO_TABLE},
      {"MutateRow", "1:$no 2:r 3{4{}}", AT_NOT_FOUND, NO_TABLE},
      {"MutateRows", "1:$no 2{1:r 2{4{}}}", AT_NOT_FOUND, NO_TABLE},
      {"CheckAndMutateRow", "1:$no 2:r 4{4{}}", AT_NOT_FOUND, NO_TABLE},
      {"ReadModifyWriteRow", "1:$no 2:r 3{1:f 4=1}", AT_NOT_FOUND, NO_TABLE}}},
    {"names that are none",
     {{"ReadRows", "", AT_INVALID_ARGUMENT, "Invalid table name"},
      {"ReadRows", "1:t", AT_INVALID_ARGUMENT, "Invalid table name 't'"},
      {"MutateRow", "1:projects/x/instances/i/tables/t 2:r 3{4{}}", AT_NOT_FOUND,
       "Instance projects/x/instances/i not found"},
      {"PingAndWarm", "1:projects/p", AT_INVALID_ARGUMENT, "Invalid instance name"}}},
    {"profiles",
     {{READ("5:nope"), AT_NOT_FOUND,
       "App profile projects/p/instances/i/appProfiles/nope not found"},
      {READ("5:other"), AT_FAILED_PRECONDITION, "does not route to cluster 'c1'"},
      {READ("5:any"), AT_OK, ""},
      {READ("5:boost"), AT_OK, ""},
      {"MutateRow", "1:$t 2:r 3{4{}} 4:boost", AT_FAILED_PRECONDITION, "read-only"},
      {"MutateRow", "1:$t 2:r 3{4{}} 4:any", AT_OK, ""},
      {"MutateRows", "1:$t 2{1:r 2{4{}}} 3:other", AT_FAILED_PRECONDITION, "does not route"}}},
    {"transactions want a profile that allows them",
     {{"ReadModifyWriteRow", "1:$t 2:r 3{1:f 4=1} 4:any", AT_FAILED_PRECONDITION,
       "Single-row transactions are not allowed by this app profile"},
      {"ReadModifyWriteRow", "1:$t 2:r 3{1:f 4=1} 4:plain", AT_FAILED_PRECONDITION,
       "Single-row transactions are not allowed by this app profile"},
      {"CheckAndMutateRow", "1:$t 2:r 4{4{}} 7:any", AT_FAILED_PRECONDITION,
       "Single-row transactions are not allowed by this app profile"},
      {"CheckAndMutateRow", "1:$t 2:r 4{4{}} 7:default", AT_OK, ""},
      {READ(""), AT_OK, ""}}},
    {"ping",
     {{"PingAndWarm", "1:projects/p/instances/i", AT_OK, ""},
      {"PingAndWarm", "1:projects/p/instances/i 2:any", AT_OK, ""},
      {"PingAndWarm", "1:projects/p/instances/i 2:nope", AT_NOT_FOUND, "App profile"},
      {"PingAndWarm", "1:projects/p/instances/j", AT_NOT_FOUND, "Instance"}}},
    {"what is not offered says so",
     {{"ReadChangeStream", "1:$t", AT_UNIMPLEMENTED, "ReadChangeStream is not supported"},
      {"PrepareQuery", "", AT_UNIMPLEMENTED, "PrepareQuery"},
      {"ExecuteQuery", "", AT_UNIMPLEMENTED, "ExecuteQuery"},
      {"GetClientConfiguration", "", AT_UNIMPLEMENTED, "GetClientConfiguration"},
      {"NoSuchRpc", "", AT_UNIMPLEMENTED, "NoSuchRpc"}}},
    {"bytes that are no request",
     {{"ReadRows", "1=5 1=7", AT_INVALID_ARGUMENT, "google.bigtable.v2.ReadRowsRequest"},
      {"MutateRow", "1{3=1} 2{77#1} 3:zz", AT_INVALID_ARGUMENT, ""}}},
};

static void entries_text(struct sfx_call *c, struct at_buf *out)
{
    Google__Bigtable__V2__MutateRowsResponse *in =
        google__bigtable__v2__mutate_rows_response__unpack(NULL, c->first.len, c->first.data);

    assert_non_null(in);
    for (size_t i = 0; i < in->n_entries; i++) {
        assert_int_equal(in->entries[i]->index, i);
        assert_non_null(in->entries[i]->status);
        int code = in->entries[i]->status->code;
        assert_int_equal(at_buf_printf(out, "%s%s", i ? " " : "", at_code_name((enum at_code)code)),
                         AT_OK);
    }
    google__bigtable__v2__mutate_rows_response__free_unpacked(in, NULL);
}

static void check_rows(struct sfx_call *c, const char *want)
{
    if (c->rows.have_stats)
        assert_int_equal(
            at_buf_printf(&c->rows.text, "stats %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                          c->rows.stats[0], c->rows.stats[1], c->rows.stats[2], c->rows.stats[3]),
            AT_OK);
    assert_string_equal(at_buf_cstr(&c->rows.text), want);
}

static void check_answer(struct sfx_call *c, const struct step *step)
{
    struct at_buf text;

    if (c->read_rows) {
        check_rows(c, step->out);
    } else if (strncmp(step->rpc, "MutateRows", 10) == 0) {
        at_buf_init(&text, AT_MIB);
        entries_text(c, &text);
        assert_string_equal(at_buf_cstr(&text), step->out);
        at_buf_deinit(&text);
    } else if (strcmp(step->rpc, "SampleRowKeys") == 0) {
        assert_true(c->message_count > 0);
    } else {
        struct at_slice want = wire_text(step->out, &c->arena);
        assert_int_equal(c->message_count, 1);
        assert_int_equal(c->first.len, want.len);
        if (want.len > 0)
            assert_memory_equal(c->first.data, want.data, want.len);
    }
}

static struct sfx *fixture;

static void run_step(const struct step *step)
{
    const char *space = strchr(step->rpc, ' ');
    struct sfx_call c;

    sfx_call_init(&c, fixture);
    c.rows.reversed = space != NULL; /* only those reads send any */
    size_t rpc_len = space ? (size_t)(space - step->rpc) : strlen(step->rpc);
    const char *rpc = at_arena_printf(&c.arena, "%.*s", (int)rpc_len, step->rpc);
    (void)sfx_start(&c, rpc, wire_text(step->request, &c.arena), space ? space + 1 : NULL);
    sfx_finish(&c);
    if (c.code != step->code)
        print_error("%s %.200s: %s %s\n", step->rpc, step->request, at_code_name(c.code),
                    c.message);
    assert_int_equal(c.code, step->code);
    if (c.code == AT_OK)
        check_answer(&c, step);
    else if (!strstr(c.message, step->out))
        fail_msg("%s: '%s' is not in '%s'", step->rpc, step->out, c.message);
    if (strcmp(step->rpc, "NoSuchRpc") != 0)
        assert_true(at_slice_eq_cstr(c.response_params, "\x0a\x02z1\x12\x02"
                                                        "c1"));
    sfx_call_deinit(&c);
}

static void check_case(void **state)
{
    const struct data_case *c = *state;

    sfx_clear(fixture);
    for (size_t i = 0; i < STEPS_MAX && c->steps[i].rpc; i++)
        run_step(&c->steps[i]);
}

static int open_fixture(void **state)
{
    (void)state;
    fixture = AT_NEW(struct sfx);
    sfx_open(fixture);
    return 0;
}

static int close_fixture(void **state)
{
    (void)state;
    sfx_close(fixture);
    at_free(fixture);
    return 0;
}

int main(void)
{
    enum { COUNT = sizeof(cases) / sizeof(cases[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        union {
            const struct data_case *in;
            void *out;
        } c = {.in = &cases[i]};
        tests[i] = (struct CMUnitTest){cases[i].name, check_case, NULL, NULL, c.out};
    }
    return _cmocka_run_group_tests("data", tests, COUNT, open_fixture, close_fixture);
}
