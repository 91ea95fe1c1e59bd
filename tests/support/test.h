/* test.h: cmocka with the includes it needs in the order it needs them. */
#ifndef ATOLL_TESTS_SUPPORT_TEST_H
#define ATOLL_TESTS_SUPPORT_TEST_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
