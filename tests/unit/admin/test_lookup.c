#include "cluster/admin/lookup.h"

#include "support/admin_fixture.h"

/* What is the same for all requests that only ask. That what they hold of the store is given back
 * shows when it closes. */

#define CREATE(id) "CreateTable", "1:" AFX_INSTANCE " 2:" id " 3{3{1:f 2{}}}"

static struct afx_case cases[] = {
    {"what is found is told, as often as it is asked for",
     {{CREATE("t"), AT_OK, NULL},
      {"GetTable", "1:$t 2=1", AT_OK, "name:" AFX_T},
      {"GetTable", "1:$t 2=1", AT_OK, "name:" AFX_T}}},
    {"the newest catalog is asked",
     {{"GetTable", "1:$t", AT_NOT_FOUND, NULL},
      {CREATE("t"), AT_OK, NULL},
      {"GetTable", "1:$t 2=1", AT_OK, "name:" AFX_T},
      {"DeleteTable", "1:$t", AT_OK, NULL},
      {"GetTable", "1:$t", AT_NOT_FOUND, NULL}}},
    {"why there is no answer is told with its code",
     {{"GetTable", "1:$t", AT_NOT_FOUND, "Table not found: " AFX_T},
      {"ListTables", "1:" AFX_INSTANCE " 4=-1", AT_INVALID_ARGUMENT, "page_size"},
      {"ListTables", "1:" AFX_INSTANCE " 3:x", AT_INVALID_ARGUMENT, "page_token"}}},
    {"bytes that are no such message are refused",
     {{"GetTable", "1=5", AT_INVALID_ARGUMENT, NULL},
      {"GetTable", "1{9{8:x}} 2:x", AT_INVALID_ARGUMENT, NULL}}},
};

int main(void)
{
    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), NULL, 0);
}
