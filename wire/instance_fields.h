/* instance_fields.h: what may be asked of an instance: display name, type, labels. PURE. */
#ifndef ATOLL_WIRE_INSTANCE_FIELDS_H
#define ATOLL_WIRE_INSTANCE_FIELDS_H

#include "base/status.h"
#include "google/bigtable/admin/v2/instance.pb-c.h"

/* Each: INVALID_ARGUMENT naming the field that is not as production wants it. */
AT_MUST_USE enum at_code at_instance_display_name_check(const char *name, struct at_error *reterr);
AT_MUST_USE enum at_code
at_instance_type_check(const Google__Bigtable__Admin__V2__Instance *instance,
                       struct at_error *reterr);
/* at_instance_labels_check: of one key several values are legal, the last counts. */
AT_MUST_USE enum at_code
at_instance_labels_check(const Google__Bigtable__Admin__V2__Instance *instance,
                         struct at_error *reterr);
/* at_instance_fields_check: all of these. */
AT_MUST_USE enum at_code
at_instance_fields_check(const Google__Bigtable__Admin__V2__Instance *instance,
                         struct at_error *reterr);

#endif
