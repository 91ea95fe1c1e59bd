/* runfile.c: the file is made beside its final name and renamed onto it. */
#include "base/runfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum at_code at_runfile_write(const char *path,
                              const struct at_runfile_port *ports,
                              uint32_t port_count,
                              struct at_error *reterr)
{
    char temporary[4096];
    if (!path)
        return AT_OK;
    int n = snprintf(temporary, sizeof(temporary), "%s.new", path);
    if (n < 0 || (size_t)n >= sizeof(temporary))
        return at_fail(reterr, AT_INVALID_ARGUMENT, "run file path is too long");
    FILE *file = fopen(temporary, "we");
    bool ok = file && fprintf(file, "{\"pid\": %" PRIdMAX, (intmax_t)getpid()) > 0;
    for (uint32_t i = 0; i < port_count && ok; i++)
        ok = fprintf(file, ", \"%s\": %u", ports[i].name, (unsigned)ports[i].port) > 0;
    ok = ok && fputs("}\n", file) >= 0;
    if (file)
        ok = fclose(file) == 0 && ok;
    if (!ok || rename(temporary, path) != 0)
        return at_fail(reterr, AT_UNAVAILABLE, "%s: %s", path, strerrordesc_np(errno));
    return AT_OK;
}
