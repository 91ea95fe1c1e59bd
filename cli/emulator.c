/* emulator.c: `atoll emulator`: one cluster in the foreground in place of Google's emulator, with
 * its flags and its ready line.
 *
 * Every instance name is served, as a namespace. Without -dir the store is a temporary folder that
 * goes with the process (see temp_store.h). Nothing is synced to disk. Requests come to the cluster
 * itself, without a router: there is one cluster, and its services check app profiles by
 * themselves. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/log.h"
#include "cli/cbt/go_flags.h"
#include "cli/command.h"
#include "cli/emulator_address.h"
#include "cli/temp_store.h"
#include "cluster/cluster.h"

#define CLUSTER_ID "emulator-c1"
#define ZONE "us-central1-b"
#define INSTANCE_ID 1 /* of every emulator: stores do not meet */
#define BLOCK_CACHE_MIB 32
#define MEMTABLE_MIB 16
#define LOG_CAP_MIB 1024
#define GC_MAX_DELAY_S 60 /* tests of collection wait for it */
#define HELP_BYTES_MAX ((size_t)4096)

struct emulator {
    struct at_emulator_address address;
    struct at_cluster_config cluster;
    struct at_profile_config profile;
    struct at_instance_config instance;
    const char *dir;
    struct at_temp_store store;
    bool temporary;
};

enum { FLAG_ADDRESS, FLAG_DIR, FLAG_HOST, FLAG_PORT, FLAG_COUNT };

static void fill_instance(struct emulator *e)
{
    static const char *CLUSTERS[] = {CLUSTER_ID};

    e->cluster = (struct at_cluster_config){
        .id = CLUSTER_ID,
        .zone = ZONE,
        .host = "127.0.0.1", /* of the peer port, which nobody uses */
        .grpc_port = e->address.port,
        .member = 1,
    };
    e->profile = (struct at_profile_config){
        .id = "default",
        .description = "one cluster",
        .routing = "single",
        .clusters = CLUSTERS,
        .cluster_count = 1,
        .transactional_writes = true,
        .priority = "HIGH",
    };
    e->instance = (struct at_instance_config){
        .project = "atoll",
        .instance = "emulator",
        .display_name = "emulator",
        .instance_id = INSTANCE_ID,
        .sync = false,
        .accept_any_instance = true,
        .clusters = &e->cluster,
        .cluster_count = 1,
        .router_zone = ZONE,
        .profiles = &e->profile,
        .profile_count = 1,
        .block_cache_mib = BLOCK_CACHE_MIB,
        .memtable_mib = MEMTABLE_MIB,
        .log_cap_mib = LOG_CAP_MIB,
        .max_skew_ms = 10000,
        .gc_max_delay_s = GC_MAX_DELAY_S,
        .heartbeat_ms = 100,
        .return_lag_ms_max = 1000,
    };
}

static enum at_code make_dir(struct emulator *e, const char *dir, struct at_error *reterr)
{
    const char *parent = getenv("TMPDIR"); /* NOLINT(concurrency-mt-unsafe): one thread yet */

    e->temporary = !dir || dir[0] == '\0';
    if (e->temporary) {
        e->dir = e->store.dir;
        return at_temp_store_open(&e->store, parent && parent[0] != '\0' ? parent : "/tmp", reterr);
    }
    e->dir = dir;
    if (mkdir(dir, 0700) == 0 || errno == EEXIST)
        return AT_OK;
    return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", dir, strerrordesc_np(errno));
}

static void on_serving(void *ctx, uint16_t port)
{
    struct emulator *e = ctx;
    char text[AT_EMULATOR_HOST_BYTES + 16];

    e->address.port = port;
    at_emulator_address_text(&e->address, text);
    (void)printf("Cloud Bigtable emulator running on %s\n", text);
    (void)fflush(stdout);
}

static int run(struct emulator *e, const struct at_go_flag *flags)
{
    struct at_error error;

    if (at_emulator_address_of(flags[FLAG_ADDRESS].value, flags[FLAG_HOST].value,
                               flags[FLAG_PORT].value, &e->address, &error) != AT_OK ||
        make_dir(e, flags[FLAG_DIR].value, &error) != AT_OK) {
        (void)fprintf(stderr, "failed to start emulator: %s\n", error.msg);
        return 1;
    }
    fill_instance(e);
    at_log_setup("emulator", AT_LOG_WARN);
    struct at_cluster_options options = {
        .instance = &e->instance,
        .cluster_id = CLUSTER_ID,
        .data_dir = e->dir,
        .loop_count = 1,
        .grpc_host = e->address.host,
        .on_serving = on_serving,
        .ctx = e,
        .name = "emulator",
    };
    int status = at_cluster_main(&options);
    if (e->temporary)
        at_temp_store_remove(&e->store);
    return status;
}

static void print_help(const struct at_go_flag *flags, const char *program)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;

    at_buf_init(&text, HELP_BYTES_MAX);
    if (at_go_flags_help(flags, FLAG_COUNT, program, &text) == AT_OK)
        (void)fwrite(text.data, 1, text.len, stderr);
}

int at_command_emulator(int argc, char **argv)
{
    struct at_go_flag flags[FLAG_COUNT] = {
        [FLAG_ADDRESS] = {.name = "address",
                          .help = "address:port number to listen on. Has priority over host/port"},
        [FLAG_DIR] = {.name = "dir",
                      .help = "where to keep data between runs; a temporary folder without it"},
        [FLAG_HOST] = {.name = "host",
                       .help = "the address to bind to on the local machine",
                       .value = "localhost",
                       .fallback = "localhost"},
        [FLAG_PORT] = {.name = "port",
                       .type = AT_GO_INT,
                       .help = "the port number to bind to on the local machine",
                       .value = "9000",
                       .fallback = "9000"},
    };
    struct at_error error;
    bool help = false;

    if (at_go_flags_parse(flags, FLAG_COUNT, argc, argv, &help, &error) != AT_OK) {
        (void)fprintf(stderr, "%s\n", error.msg);
        print_help(flags, argv[0]);
        return 2;
    }
    if (help) {
        print_help(flags, argv[0]);
        return 0;
    }
    struct emulator emulator = {0};
    return run(&emulator, flags);
}
