/* assert.h: checks for programmer errors, kept in release builds.
 *
 * Nothing that a peer, client, disk or config file can send is ever asserted
 * on: such input gets a code (status.h). */
#ifndef ATOLL_BASE_ASSERT_H
#define ATOLL_BASE_ASSERT_H

/* AT_ASSERT aborts with file, line and a backtrace on stderr. */
#define AT_ASSERT(cond) ((cond) ? (void)0 : at_assert_fail(#cond, __FILE__, __LINE__))

/* AT_INVARIANT is for checks that cost more than O(1): debug and simulation only. */
#ifdef NDEBUG
#define AT_INVARIANT(cond) ((void)sizeof(cond))
#else
#define AT_INVARIANT(cond) AT_ASSERT(cond)
#endif

__attribute__((noreturn, cold)) void at_assert_fail(const char *cond, const char *file, int line);

#endif
