#include "cluster/tablet/sieve.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "cluster/model/key.h"

/* A compaction goes through the keys in order, so what is known of a family is looked up once, and
 * then only its 8 bytes are compared; a key is decoded only when its family has a floor. */

struct pass {
    struct at_schema *schema;
    uint8_t prefix[AT_KEY_PREFIX_BYTES];  /* zeroed: no table has the id 0 */
    const struct at_family_floor *family; /* of this prefix */
    struct at_buf scratch;
};

static bool below(struct pass *p, struct at_slice key);

void *at_sieve_begin(struct at_schema *schema)
{
    struct pass *p = AT_NEW(struct pass);

    p->schema = schema;
    p->family = at_schema_floor(schema, 0, 0);
    at_buf_init(&p->scratch, AT_KEY_BYTES_MAX);
    return p;
}

bool at_sieve_drops(void *pass, struct at_slice key)
{
    struct pass *p = pass;

    if (key.len < AT_KEY_PREFIX_BYTES)
        return false;
    if (memcmp(p->prefix, key.data, AT_KEY_PREFIX_BYTES) != 0) {
        memcpy(p->prefix, key.data, AT_KEY_PREFIX_BYTES);
        p->family = at_schema_floor(p->schema, at_get_be32(p->prefix), at_get_be32(p->prefix + 4));
    }
    return p->family->dead || (p->family->floor.before_micros > 0 && below(p, key));
}

void at_sieve_end(void *pass)
{
    struct pass *p = pass;

    at_schema_unref(&p->schema);
    at_buf_deinit(&p->scratch);
    at_free(p);
}

/* What can't be decoded is kept: a read will tell. */
static bool below(struct pass *p, struct at_slice stored)
{
    struct at_key key;

    if (at_key_decode(stored, &p->scratch, &key) != AT_OK)
        return false;
    return (key.kind == AT_KEY_CELL || key.kind == AT_KEY_PARTIAL) &&
           key.timestamp_micros < p->family->floor.before_micros &&
           at_stamp_cmp(key.stamp, p->family->floor.stamp) <= 0;
}
