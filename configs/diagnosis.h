/* diagnosis.h: where in an instance file something is wrong. Only configs/ includes it. */
#ifndef ATOLL_CONFIGS_DIAGNOSIS_H
#define ATOLL_CONFIGS_DIAGNOSIS_H

#include <stdarg.h>

#include <cyaml/cyaml.h>

#include "base/slice.h"
#include "base/status.h"

/* Collects what libcyaml logs about a failed load: the reason, and the innermost place. */
struct at_diagnosis {
    char reason[160];
    char context[64]; /* innermost field that holds a mapping, "" for the document */
    unsigned line;
    unsigned column;
    bool have_place;
};

/* at_diagnosis_log is a cyaml_log_fn_t; ctx is the diagnosis. */
void at_diagnosis_log(cyaml_log_t level, void *ctx, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* at_diagnosis_fail returns INVALID_ARGUMENT "PATH:LINE:COLUMN: reason", with the known fields when
 * the reason is an unknown one. `text` is the whole file. */
AT_MUST_USE enum at_code at_diagnosis_fail(const struct at_diagnosis *d,
                                           const char *path,
                                           struct at_slice text,
                                           struct at_error *reterr);

/* at_text_place finds `word` as a whole word in the file, the `nth` (from 0) time, from line
 * `from_line` on; false when it is not there. Lines and columns count from 1. */
bool at_text_place(struct at_slice text,
                   const char *word,
                   unsigned nth,
                   unsigned from_line,
                   unsigned *ret_line,
                   unsigned *ret_column);

#endif
