/* launch.c: reading what is asked, and saying how it went. */
#include "cli/launch.h"

#include <argp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "cli/command.h"

struct launch_options {
    const char *state_dir;
    const char *verb;
    pid_t parent; /* 0: whoever asked need not live on */
};

static const struct {
    const char *verb;
    enum at_code (*run)(struct at_launch *l, struct at_error *reterr);
} VERBS[] = {
    {"create-instance", at_launch_create_instance},
    {"delete-instance", at_launch_delete_instance},
    {"prepare-cluster", at_launch_prepare_cluster},
    {"start-cluster", at_launch_start_cluster},
    {"drop-cluster", at_launch_drop_cluster},
    {"resume-clusters", at_launch_resume_clusters},
    {"sweep", at_launch_sweep},
};

static enum at_code run(const struct launch_options *o, json_t *answer, struct at_error *reterr);

enum { OPT_STATE = 256, OPT_PARENT };

/* NOLINTNEXTLINE(readability-non-const-parameter): the signature is argp's. */
static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct launch_options *o = state->input;
    switch (key) {
    case OPT_STATE:
        o->state_dir = arg;
        return 0;
    case OPT_PARENT:
        o->parent = (pid_t)strtol(arg, NULL, 10);
        return 0;
    case ARGP_KEY_ARG:
        if (o->verb)
            return ARGP_ERR_UNKNOWN;
        o->verb = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->verb)
            argp_error(state, "which verb?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Ends with the router that asked: one that is started anew looks at the folders once and goes on
 * with what it finds, so nothing may come into being behind its back. */
static bool lives_with(pid_t parent)
{
    if (parent == 0)
        return true;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent; /* else it was gone before */
}

int at_command_launch(int argc, char **argv)
{
    static const struct argp_option OPTIONS[] = {
        {"state-dir", OPT_STATE, "DIR", 0, "the router's folder (default " AT_STATE_DIR_DEFAULT ")",
         0},
        {"parent", OPT_PARENT, "PID", 0, "end when this process, which started it, ends", 0},
        {0},
    };
    static const struct argp ARGP = {
        OPTIONS, parse, "VERB", "Starts and ends processes for a router. JSON on stdin and stdout.",
        NULL,    NULL,  NULL};
    struct launch_options o = {.state_dir = AT_STATE_DIR_DEFAULT};
    if (argp_parse(&ARGP, argc, argv, 0, NULL, &o) != 0)
        return 2;
    if (!lives_with(o.parent))
        return 1;
    struct at_error error = {0};
    json_t *answer = json_object();
    enum at_code code = run(&o, answer, &error);
    if (code == AT_OK) {
        (void)json_object_set_new(answer, "ok", json_true());
    } else {
        (void)json_object_clear(answer);
        (void)json_object_set_new(answer, "code", json_integer((json_int_t)code));
        (void)json_object_set_new(answer, "message", json_string(error.msg));
    }
    (void)json_dumpf(answer, stdout, JSON_COMPACT);
    (void)fflush(stdout);
    json_decref(answer);
    return code == AT_OK ? 0 : 1;
}

static enum at_code read_spec(json_t **ret_spec, struct at_error *reterr)
{
    AT_CLEANUP(at_buf_deinit) struct at_buf text;
    char chunk[4096];
    size_t n;
    at_buf_init(&text, AT_LAUNCH_BYTES_MAX);
    while ((n = fread(chunk, 1, sizeof(chunk), stdin)) > 0)
        if (at_buf_append(&text, at_slice_make(chunk, n)) != AT_OK)
            return at_fail(reterr, AT_RESOURCE_EXHAUSTED, "what is asked is too long");
    json_error_t where;
    *ret_spec = json_loadb((const char *)text.data, text.len, 0, &where);
    if (json_is_object(*ret_spec))
        return AT_OK;
    return at_fail(reterr, AT_INVALID_ARGUMENT, "what is asked is no JSON object: %s", where.text);
}

static enum at_code
run_verb(const struct launch_options *o, struct at_launch *l, struct at_error *reterr)
{
    AT_TRY(at_launch_text(l, "project", &l->project, reterr));
    AT_TRY(at_launch_text(l, "instance", &l->instance, reterr));
    for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++)
        if (strcmp(VERBS[i].verb, o->verb) == 0)
            return VERBS[i].run(l, reterr);
    return at_fail(reterr, AT_INVALID_ARGUMENT, "no such verb: %s", o->verb);
}

static enum at_code run(const struct launch_options *o, json_t *answer, struct at_error *reterr)
{
    json_t *spec = NULL;
    struct at_state_dir root;
    enum at_code code = read_spec(&spec, reterr);
    if (code == AT_OK) {
        code = at_state_dir_open(&root, o->state_dir, reterr);
        struct at_launch l = {.root = &root, .spec = spec, .answer = answer};
        if (code == AT_OK)
            code = run_verb(o, &l, reterr);
        at_state_dir_close(&root);
    }
    json_decref(spec);
    return code;
}

/* Names become parts of paths. */
static bool is_plain(const char *text)
{
    return text[0] != '\0' && text[0] != '.' && !strchr(text, '/') && strlen(text) <= 200;
}

enum at_code at_launch_text(const struct at_launch *l,
                            const char *key,
                            const char **ret_text,
                            struct at_error *reterr)
{
    const char *text = json_string_value(json_object_get(l->spec, key));
    if (!text || !is_plain(text))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "%s is missing or no name", key);
    *ret_text = text;
    return AT_OK;
}

static bool is_root(const struct at_launch *l)
{
    return strcmp(l->project, l->root->instance.project) == 0 &&
           strcmp(l->instance, l->root->instance.instance) == 0;
}

enum at_code
at_launch_open(const struct at_launch *l, struct at_state_dir *s, struct at_error *reterr)
{
    const char *path =
        is_root(l) ? l->root->path : at_state_dir_of(l->root, l->project, l->instance);
    at_state_dir_begin(s, path);
    if (access(path, F_OK) != 0)
        return at_fail(reterr, AT_NOT_FOUND, "Instance projects/%s/instances/%s not found",
                       l->project, l->instance);
    AT_TRY(at_state_dir_lock(s, reterr)); /* first: another one may be writing the file */
    return at_instance_load(at_state_dir_path(s, "", "instance", ".yaml"), &s->arena, &s->instance,
                            reterr);
}
