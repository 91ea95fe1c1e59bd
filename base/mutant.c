#include "base/mutant.h"

#include <string.h>

static const char *const names[] = {
#define NAME(name, text) #name,
    AT_MUTANTS(NAME)
#undef NAME
};

static const char *const texts[] = {
#define TEXT(name, text) text,
    AT_MUTANTS(TEXT)
#undef TEXT
};

#ifdef ATOLL_MUTANTS
bool g_at_mutants[AT_MUTANT_COUNT];
#endif

bool at_mutant_set(const char *name)
{
    bool found = name == NULL;

    for (int i = 0; i < AT_MUTANT_COUNT; i++) {
        bool is = name != NULL && strcmp(names[i], name) == 0;
        found = found || is;
#ifdef ATOLL_MUTANTS
        g_at_mutants[i] = is;
#endif
    }
#ifdef ATOLL_MUTANTS
    return found;
#else
    return found && name == NULL;
#endif
}

const char *at_mutant_name(enum at_mutant mutant)
{
    return names[mutant];
}

const char *at_mutant_text(enum at_mutant mutant)
{
    return texts[mutant];
}
