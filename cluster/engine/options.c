#include "cluster/engine/engine_internal.h"

#include "base/crc32c.h"
#include "base/limits.h"

/* Why these settings:
 * - One writer thread commits everything, so what RocksDB does for many writers (pipelined,
 *   unordered and concurrent memtable writes) is off; a single inserter also keeps a hint of where
 *   it inserted last, which makes the log's ascending keys nearly free.
 * - RocksDB's insertion hint per prefix would spare a seventh of a bulk write, but 7.8 uses one
 * hint for the memtable's cells and its deleted ranges alike, and fails an assertion. Not used.
 * - Three keyspaces, one WAL. A keyspace that is written rarely (META) would hold WAL files back
 *   for ever, so the WAL's total size is bounded and the oldest memtable is flushed beyond it.
 * - Nearly every read is an iterator, which a Bloom filter of whole keys cannot help. One of rows
 *   (the groups of keys) spares a look-up the search of memtables and tables without the row, and
 *   takes 10 bits a row.
 * - Index blocks count against the block cache (those of level 0 pinned in it), so that memory is
 *   bounded by what the caller configured and not by the amount of data.
 * - Upper levels are rewritten soon, so they are not compressed; what stays is, with LZ4.
 * - Compactions yield to whoever a client or a peer waits for: with them at the same priority the
 *   slowest hundredth of replicated writes took twice as long, and none was faster. Flushes keep
 *   theirs, as writers wait for them.
 * - Distributions build RocksDB for processors that have no instruction for a CRC, which then is a
 *   tenth of a commit (its log's). Where RocksDB is part of the program the linker has it call
 *   engine_crc_extend instead (CMakeLists.txt), which computes the same. */

#define LOG_MEMTABLE_BYTES (16 * AT_MIB)
#define META_MEMTABLE_BYTES (4 * AT_MIB)
#define FILE_BYTES (64 * AT_MIB)
#define BLOCK_BYTES (16 * AT_KIB)
#define BYTES_PER_SYNC AT_MIB
#define MEMTABLE_COUNT_MAX 4
#define LEVELS 7
#define LEVELS_PLAIN 2
#define INFO_LOG_LEVEL_WARN 2
#define RECOVERY_POINT_IN_TIME 2

uint32_t engine_crc_extend(uint32_t crc,
                           const char *data,
                           size_t len) __asm__("__wrap__ZN7rocksdb6crc32c6ExtendEjPKcm");
static rocksdb_options_t *family_options(size_t memtable_bytes, rocksdb_cache_t *cache);
static void database_options(rocksdb_options_t *o, const struct at_engine_options *options);

void engine_options_make(struct at_engine *e, const struct at_engine_options *options)
{
    e->cache = rocksdb_cache_create_lru(options->block_cache_bytes);
    e->options[FAMILY_DEFAULT] = family_options(META_MEMTABLE_BYTES, e->cache);
    e->options[engine_family_id(AT_SPACE_CELLS)] =
        family_options(options->memtable_bytes, e->cache);
    e->options[engine_family_id(AT_SPACE_LOG)] = family_options(LOG_MEMTABLE_BYTES, e->cache);
    e->options[engine_family_id(AT_SPACE_META)] = family_options(META_MEMTABLE_BYTES, e->cache);
    engine_sieve_set(e, e->options[engine_family_id(AT_SPACE_CELLS)]);
    if (options->group != NULL)
        engine_group_set(e->options[engine_family_id(AT_SPACE_CELLS)], options->group);
    database_options(e->options[FAMILY_DEFAULT], options);
}

uint32_t engine_crc_extend(uint32_t crc, const char *data, size_t len)
{
    return at_crc32c_extend(crc, at_slice_make(data, len));
}

/* Also something for a compaction's output; when that fails for want of space, nothing is lost. */
uint64_t engine_reserve_bytes(const struct at_engine_options *options)
{
    return 2 * (options->memtable_bytes + LOG_MEMTABLE_BYTES) + FILE_BYTES;
}

static rocksdb_options_t *family_options(size_t memtable_bytes, rocksdb_cache_t *cache)
{
    rocksdb_options_t *o = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    int compression[LEVELS];

    for (int i = 0; i < LEVELS; i++)
        compression[i] = i < LEVELS_PLAIN ? rocksdb_no_compression : rocksdb_lz4_compression;
    rocksdb_options_set_num_levels(o, LEVELS);
    rocksdb_options_set_compression_per_level(o, compression, LEVELS);
    rocksdb_options_set_write_buffer_size(o, memtable_bytes);
    rocksdb_options_set_max_write_buffer_number(o, MEMTABLE_COUNT_MAX);
    rocksdb_options_set_target_file_size_base(o, FILE_BYTES);
    rocksdb_options_set_max_bytes_for_level_base(o, 4 * FILE_BYTES);
    rocksdb_options_set_level_compaction_dynamic_level_bytes(o, 0);

    rocksdb_block_based_options_set_filter_policy(table,
                                                  rocksdb_filterpolicy_create_bloom_full(10));
    rocksdb_block_based_options_set_whole_key_filtering(table, 0);
    rocksdb_block_based_options_set_block_cache(table, cache);
    rocksdb_block_based_options_set_block_size(table, BLOCK_BYTES);
    rocksdb_block_based_options_set_format_version(table, 5);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
    rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(table, 1);
    rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(table, 1);
    rocksdb_options_set_block_based_table_factory(o, table);
    rocksdb_block_based_options_destroy(table);
    return o;
}

static void database_options(rocksdb_options_t *o, const struct at_engine_options *options)
{
    rocksdb_options_set_create_if_missing(o, 1);
    rocksdb_options_set_create_missing_column_families(o, 1);
    rocksdb_options_set_paranoid_checks(o, 1);
    rocksdb_options_set_wal_recovery_mode(o, RECOVERY_POINT_IN_TIME);
    rocksdb_options_set_atomic_flush(o, 0);
    rocksdb_options_set_max_total_wal_size(o, 2 * options->memtable_bytes + 2 * LOG_MEMTABLE_BYTES +
                                                  FILE_BYTES);
    rocksdb_options_set_max_background_jobs(
        o, options->background_threads > 2 ? (int)options->background_threads : 2);

    rocksdb_options_set_allow_concurrent_memtable_write(o, 0);
    rocksdb_options_set_enable_pipelined_write(o, 0);
    rocksdb_options_set_unordered_write(o, 0);
    rocksdb_options_set_enable_write_thread_adaptive_yield(o, 0);
    rocksdb_options_set_bytes_per_sync(o, BYTES_PER_SYNC);
    rocksdb_options_set_avoid_unnecessary_blocking_io(o, 1);

    rocksdb_options_set_info_log_level(o, INFO_LOG_LEVEL_WARN);
    rocksdb_options_set_keep_log_file_num(o, 2);
    rocksdb_options_set_max_log_file_size(o, AT_MIB);
    rocksdb_options_set_stats_dump_period_sec(o, 0);

    rocksdb_env_t *env = rocksdb_create_default_env();
    rocksdb_env_lower_thread_pool_cpu_priority(env);
    rocksdb_options_set_env(o, env);
    rocksdb_env_destroy(env);
}
