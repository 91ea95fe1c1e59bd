/* mutant.h: deliberate bugs, to see that the tests find them. PURE but for one global, which only
 * builds with -DATOLL_MUTANTS have; in all others AT_MUTANT(name) is the constant false. */
#ifndef ATOLL_BASE_MUTANT_H
#define ATOLL_BASE_MUTANT_H

#include <stdbool.h>

#define AT_MUTANTS(X)                                                                              \
    X(promise_early, "a promise counts before its position is applied")                            \
    X(own_filtered, "own entries that others hold are not taken back")                             \
    X(relay_off, "a donor leaves out the entries of others")                                       \
    X(epoch_kept, "after a lost tail the epoch goes on: numbers get a second meaning")             \
    X(promise_unclosed, "a new epoch promises before the old ones are closed")                     \
    X(horizon_skips_silent, "the horizon does not wait for members that have promised nothing")    \
    X(tie_local, "of equal clocks the own stamp wins")                                             \
    X(durable_early, "what is applied is taken for durable: acknowledged, and in tokens")          \
    X(token_unreached, "a token ignores members that were not reached when it was made")           \
    X(position_ahead, "the position moves, the entry is not applied")                              \
    X(gap_ignored, "an entry beyond a gap is applied")                                             \
    X(epoch_forgotten, "an epoch that left the vectors is let in again")                           \
    X(fence_ignored, "entries and replies of a fenced member are taken")                           \
    X(final_ignored, "a removed member leaves the horizon before its final position is applied")   \
    X(copy_union, "a copy is the plain union of both sides")                                       \
    X(horizon_lowered, "a copy takes the donor's horizon, though the own one is higher")           \
    X(clock_unsynced, "the reservation of the clock is not made durable")                          \
    X(lag_zero, "lag is 0 when it is not known")                                                   \
    X(incarnation_ignored, "answers of an older process of a member are taken")                    \
    X(closing_forgets_voucher, "an epoch is closed before all members have vouched")               \
    X(leave_early, "a leaver goes before the others have all that it has")                         \
    X(join_unacknowledged, "a newcomer writes before all members know it")                         \
    X(dead_voucher_counts, "the vouch of a removed member still counts")                           \
    X(acked_by_some, "the log is trimmed when one member has it")                                  \
    X(forget_above_horizon, "markers are forgotten without regard to the horizon")                 \
    X(marker_without_covered, "a marker is forgotten, some of what it covers stays")               \
    X(fold_above_horizon, "adds above the horizon are folded")                                     \
    X(partial_twice, "a folded add is counted twice")                                              \
    X(drop_forgotten_early, "the record of a dropped range goes before what it covers")            \
    X(drop_ignores_late, "a dropped range takes what is there and hides nothing that comes later") \
    X(generation_kept, "a table made anew shows the data of the one before")                       \
    X(unknown_discarded, "entries of a table or family that is not known yet are discarded")       \
    X(row_delete_by_family, "a deleted row hides only the families that its cluster knows")        \
    X(schema_by_stamp, "whether a table exists is decided by stamps, not by counters")             \
    X(chunk_of_any_snapshot, "a copy goes on with a chunk of another snapshot")                    \
    X(torn_batch, "after a crash a part of the last batch is kept")                                \
    X(fold_as_sum, "a lowest or highest value is folded as if it were a sum")                      \
    X(set_back_unseen, "a cluster that is shown more of its epoch than it has goes on in it")      \
    X(fork_untold, "a copy does not tell that a minority went on as another instance")             \
    X(copy_resumed, "a donor that restarted goes on with a copy it did not begin")

enum at_mutant {
#define AT_MUTANT_ENUM(name, text) AT_MUTANT_##name,
    AT_MUTANTS(AT_MUTANT_ENUM)
#undef AT_MUTANT_ENUM
        AT_MUTANT_COUNT
};

/* at_mutant_set switches the bug `name` on and all others off; NULL: all off. False when there is
 * no such name, or the build has no mutants. Before any thread starts. */
bool at_mutant_set(const char *name);
/* at_mutant_name and _text: of 0 .. AT_MUTANT_COUNT-1. */
const char *at_mutant_name(enum at_mutant mutant);
const char *at_mutant_text(enum at_mutant mutant);

#ifdef ATOLL_MUTANTS
extern bool g_at_mutants[AT_MUTANT_COUNT];
#define AT_MUTANT(name) (g_at_mutants[AT_MUTANT_##name])
#else
#define AT_MUTANT(name) ((void)AT_MUTANT_##name, false)
#endif

#endif
