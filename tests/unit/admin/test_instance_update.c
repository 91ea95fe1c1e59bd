#include "cluster/admin/instance_update.h"

#include "support/admin_fixture.h"

#define I "1:" AFX_INSTANCE
#define SHOWS(display, more) \
    "name:" AFX_INSTANCE " display_name:" display " state:READY type:PRODUCTION" more

static struct afx_case cases[] = {
    {"an update replaces name and labels",
     {{"UpdateInstance", I " 2:Lab 5{1:env 2:test}", AT_OK,
       SHOWS("Lab", " labels{key:env value:test}")},
      {"GetInstance", I, AT_OK, SHOWS("Lab", " labels{key:env value:test}")},
      {"UpdateInstance", I " 2:Lab2", AT_OK, SHOWS("Lab2", "")},
      {"ListInstances", "1:projects/p", AT_OK, "instances{" SHOWS("Lab2", "") "}"}}},
    {"a partial update sets what its mask names, in either spelling",
     {{"UpdateInstance", I " 2:Lab 5{1:env 2:test}", AT_OK, NULL},
      {"PartialUpdateInstance", "1{" I " 2:New} 2{1:displayName}", AT_OK, NULL},
      {"GetInstance", I, AT_OK, SHOWS("New", " labels{key:env value:test}")},
      {"PartialUpdateInstance", "1{" I " 2:x 5{1:a 2:b}} 2{1:labels}", AT_OK, NULL},
      {"GetInstance", I, AT_OK, SHOWS("New", " labels{key:a value:b}")}}},
    {"what can't be is refused",
     {{"UpdateInstance", I, AT_INVALID_ARGUMENT, "display_name"},
      {"UpdateInstance", I " 2:x 4=9", AT_INVALID_ARGUMENT, "type"},
      {"UpdateInstance", "1:projects/p/instances/j 2:x", AT_NOT_FOUND, NULL},
      {"UpdateInstance", I " 2:x 5{2:b}", AT_INVALID_ARGUMENT, "labels"},
      {"PartialUpdateInstance", "1{" I " 2:x}", AT_INVALID_ARGUMENT, "update_mask"},
      {"PartialUpdateInstance", "1{" I " 2:x} 2{1:state}", AT_INVALID_ARGUMENT, "state"},
      {"PartialUpdateInstance", "2{1:labels}", AT_INVALID_ARGUMENT, "instance"},
      {"GetInstance", I, AT_OK, SHOWS("i", "")}}},
};

int main(void)
{
    return afx_main(cases, sizeof(cases) / sizeof(cases[0]), NULL, 0);
}
