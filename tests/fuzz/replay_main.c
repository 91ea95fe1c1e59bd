/* replay_main: runs a fuzz target once on each file of the folders and files given, where there is
 * no libFuzzer to do it. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 1;
    size_t cap = 1 << 20;
    uint8_t *data = malloc(cap);
    size_t size = data ? fread(data, 1, cap, file) : 0;
    (void)fclose(file);
    if (data)
        (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    return data ? 0 : 1;
}

static int replay_folder(const char *path)
{
    DIR *folder = opendir(path);
    int failed = folder ? 0 : 1;
    int count = 0;
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        char name[4096];
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        failed += replay_file(name);
        count++;
    }
    if (folder)
        (void)closedir(folder);
    (void)printf("%s: %d inputs\n", path, count);
    return failed || count == 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
            failed += replay_folder(argv[i]);
        else
            failed += replay_file(argv[i]);
    }
    return failed ? 1 : 0;
}
