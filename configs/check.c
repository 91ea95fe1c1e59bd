/* check.c: names, ranges and references of an instance file.
 *
 * libcyaml does not keep places, so a wrong value is found again by its text: the last occurrence
 * that matters is named by counting how often the same value was seen before it. */
#include "configs/check.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "configs/diagnosis.h"

struct checking {
    const struct raw_instance *raw;
    const char *path;
    struct at_slice text;
    struct at_error *reterr;
};

static enum at_code check_names(const struct checking *c);
static enum at_code check_clusters(const struct checking *c);
static enum at_code check_members(const struct checking *c);
static enum at_code check_ports(const struct checking *c);
static enum at_code check_profiles(const struct checking *c);
static enum at_code check_profile(const struct checking *c, const struct raw_profile *p);
static enum at_code check_numbers(const struct checking *c);

/* Fails at the nth place where `word` stands (the top of the file when it stands nowhere). */
static enum at_code
wrong(const struct checking *c, const char *word, unsigned nth, const char *what)
{
    unsigned line = 1, column = 1;
    if (!at_text_place(c->text, word, nth, 1, &line, &column))
        (void)at_text_place(c->text, word, 0, 1, &line, &column);
    return at_fail(c->reterr, AT_INVALID_ARGUMENT, "%s:%u:%u: '%s': %s", c->path, line, column,
                   word, what);
}

enum at_code at_instance_check(const struct raw_instance *raw,
                               const char *path,
                               struct at_slice text,
                               struct at_error *reterr)
{
    struct checking c = {.raw = raw, .path = path, .text = text, .reterr = reterr};
    AT_TRY(check_names(&c));
    AT_TRY(check_clusters(&c));
    AT_TRY(check_members(&c));
    AT_TRY(check_ports(&c));
    AT_TRY(check_profiles(&c));
    return check_numbers(&c);
}

/* [a-z][-a-z0-9]*, the form of instance, cluster and (leniently) project ids. */
static bool id_ok(const char *s, size_t len_max, bool colon)
{
    size_t len = strlen(s);
    if (len == 0 || len > len_max || s[0] < 'a' || s[0] > 'z')
        return false;
    for (size_t i = 0; i < len; i++) {
        char ch = s[i];
        bool ok = (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-' ||
                  (colon && (ch == ':' || ch == '.'));
        if (!ok)
            return false;
    }
    return true;
}

static enum at_code check_names(const struct checking *c)
{
    if (c->raw->project && !id_ok(c->raw->project, 63, true))
        return wrong(c, c->raw->project, 0,
                     "expected a project id: a lower-case letter, then letters, digits, - . :");
    if (!id_ok(c->raw->instance, 33, false))
        return wrong(c, c->raw->instance, 0,
                     "expected an instance id: a lower-case letter, then letters, digits or -, at "
                     "most 33");
    const char *durability = c->raw->durability;
    if (durability && strcmp(durability, "sync") != 0 && strcmp(durability, "async") != 0)
        return wrong(c, durability, 0, "expected sync or async");
    const char *visibility = c->raw->gc.visibility;
    if (visibility && strcmp(visibility, "lazy") != 0 && strcmp(visibility, "strict") != 0)
        return wrong(c, visibility, 0, "expected lazy or strict");
    return AT_OK;
}

/* Two clusters of one number would take each other's entries for their own. 0: one is chosen. */
static enum at_code check_members(const struct checking *c)
{
    const struct raw_cluster *all = c->raw->clusters;
    for (unsigned i = 0; i < c->raw->clusters_count; i++) {
        if (all[i].member == UINT32_MAX)
            return wrong(c, "member", 0, "expected a number below 4294967295");
        for (unsigned k = 0; k < i && all[i].member != 0; k++)
            if (all[k].member == all[i].member)
                return wrong(c, all[i].id, 0, "expected a member number that no other cluster has");
    }
    return AT_OK;
}

static enum at_code check_clusters(const struct checking *c)
{
    const struct raw_cluster *all = c->raw->clusters;
    for (unsigned i = 0; i < c->raw->clusters_count; i++) {
        if (!id_ok(all[i].id, 30, false))
            return wrong(c, all[i].id, 0,
                         "expected a cluster id: a lower-case letter, then letters, digits or -, "
                         "at most 30");
        if (!id_ok(all[i].zone, 63, false))
            return wrong(c, all[i].zone, 0, "expected a zone such as us-central1-b");
        for (unsigned k = 0; k < i; k++) {
            if (strcmp(all[k].id, all[i].id) == 0)
                return wrong(c, all[i].id, 1, "expected a cluster id that no other cluster has");
            if (strcmp(all[k].zone, all[i].zone) == 0)
                return wrong(c, all[i].zone, 1,
                             "expected one cluster per zone: production refuses two as well");
        }
    }
    return AT_OK;
}

/* Ports that are given must differ; 0 is a free one each. */
static enum at_code check_ports(const struct checking *c)
{
    unsigned ports[2 * AT_MEMBERS_MAX + 2];
    unsigned count = 0;
    for (unsigned i = 0; i < c->raw->clusters_count; i++) {
        ports[count++] = c->raw->clusters[i].grpc_port;
        ports[count++] = c->raw->clusters[i].peer_port;
    }
    if (c->raw->router.grpc_port)
        ports[count++] = *c->raw->router.grpc_port;
    if (c->raw->router.http_port)
        ports[count++] = *c->raw->router.http_port;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned k = 0; k < i; k++) {
            if (ports[i] == 0 || ports[i] != ports[k])
                continue;
            char word[16];
            (void)snprintf(word, sizeof(word), "%u", ports[i]);
            return wrong(c, word, 1, "expected a port that nothing else in this file uses");
        }
    }
    return AT_OK;
}

static bool cluster_known(const struct raw_instance *raw, const char *id)
{
    for (unsigned i = 0; i < raw->clusters_count; i++)
        if (strcmp(raw->clusters[i].id, id) == 0)
            return true;
    return false;
}

static enum at_code check_profiles(const struct checking *c)
{
    for (unsigned i = 0; i < c->raw->profiles_count; i++) {
        for (unsigned k = 0; k < i; k++)
            if (strcmp(c->raw->profiles[k].id, c->raw->profiles[i].id) == 0)
                return wrong(c, c->raw->profiles[i].id, 1,
                             "expected a profile id that no other profile has");
        AT_TRY(check_profile(c, &c->raw->profiles[i]));
    }
    return AT_OK;
}

static enum at_code check_profile(const struct checking *c, const struct raw_profile *p)
{
    bool single = strcmp(p->routing, "single") == 0;
    if (!single && strcmp(p->routing, "any") != 0)
        return wrong(c, p->routing, 0, "expected routing: any or routing: single");
    if (p->id[0] == '\0' || strlen(p->id) > AT_PROFILE_ID_BYTES_MAX)
        return wrong(c, p->id, 0, "expected a profile id of 1 to 50 characters");
    if (single && p->clusters_count != 1)
        return wrong(c, p->id, 0, "routing single: expected exactly one cluster in clusters");
    if (!single && p->transactional_writes)
        return wrong(c, p->id, 0,
                     "transactional_writes: expected routing single; transactions through several "
                     "clusters are unsafe");
    if (single && p->row_affinity)
        return wrong(c, p->id, 0, "row_affinity: expected routing any");
    for (unsigned i = 0; i < p->clusters_count; i++)
        if (!cluster_known(c->raw, p->clusters[i]))
            return wrong(c, p->clusters[i], 0, "expected the id of a cluster of this file");
    static const char *const PRIORITIES[] = {"LOW", "MEDIUM", "HIGH"};
    for (size_t i = 0; p->priority && i < 3; i++)
        if (strcmp(p->priority, PRIORITIES[i]) == 0)
            return AT_OK;
    return p->priority ? wrong(c, p->priority, 0, "expected LOW, MEDIUM or HIGH") : AT_OK;
}

static enum at_code check_numbers(const struct checking *c)
{
    const struct {
        const char *key;
        uint32_t value; /* 0: absent, the default */
        uint32_t min;
        uint32_t max;
    } ranges[] = {
        {"block_cache_mib", c->raw->storage.block_cache_mib, 8, 1 << 20},
        {"memtable_mib", c->raw->storage.memtable_mib, 1, 4096},
        {"log_cap_mib", c->raw->storage.log_cap_mib, 16, 1 << 20},
        {"copy_mib_per_s", c->raw->storage.copy_mib_per_s, 1, 1 << 20},
        {"heartbeat_ms", c->raw->routing.heartbeat_ms, 10, 10000},
        {"return_lag_ms_max", c->raw->routing.return_lag_ms_max, 1, 3600000},
        {"max_skew_ms", c->raw->clock.max_skew_ms, 100, 3600000},
        {"max_delay_s", c->raw->gc.max_delay_s, 1, 7 * 24 * 3600},
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (ranges[i].value == 0 ||
            (ranges[i].value >= ranges[i].min && ranges[i].value <= ranges[i].max))
            continue;
        char what[80];
        (void)snprintf(what, sizeof(what), "expected a number from %u to %u", ranges[i].min,
                       ranges[i].max);
        return wrong(c, ranges[i].key, 0, what);
    }
    return AT_OK;
}
