/* Any bytes as the list of a folder's weight files, beside two that are sound. Whatever a list says: the files that
 * open lie in the folder itself, and no tensor is in two of them. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"
#include "store/shards.h"

static void write_shard(const char *name, const char *first, const char *second)
{
    const real values[] = {1, 2, 3};
    const struct safetensors_item items[] = {{.name = first, .n_dims = 1, .shape = {3}, .values = values},
                                             {.name = second, .n_dims = 1, .shape = {2}, .values = values}};
    struct error err;
    uint8_t *bytes;
    size_t size;
    fuzz_require(safetensors_build(&bytes, &size, items, 2, &err) == STATUS_OK, "%s", err.message);
    fuzz_file(name, bytes, size);
    free(bytes);
}

static void require_sound(const struct shards *s)
{
    const char *folder = fuzz_path("shards");
    const size_t n = strlen(folder);
    fuzz_require(s->count > 0 && s->count <= 2, "%zu files", s->count);
    for (size_t f = 0; f < s->count; f++) {
        const char *path = s->file[f].path;
        fuzz_require(strncmp(path, folder, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/'), "%s", path);
        for (size_t i = 0; i < s->file[f].count; i++)
            for (size_t g = f + 1; g < s->count; g++)
                fuzz_require(!safetensors_find(&s->file[g], s->file[f].entry[i].name), "%s is in two files",
                             s->file[f].entry[i].name);
    }
}

int fuzz_shards(const uint8_t *bytes, size_t n)
{
    struct error err;
    struct shards s;
    fuzz_remove("shards");
    fuzz_require(mkdir(fuzz_path("shards"), 0700) == 0, "no folder");
    write_shard("shards/model-00001-of-00002.safetensors", "a", "b");
    write_shard("shards/model-00002-of-00002.safetensors", "c", "d");
    fuzz_file("shards/model.safetensors.index.json", bytes, n);
    fuzz_clear(&err);
    const enum status status = shards_open(&s, fuzz_path("shards"), &err);
    if (status != STATUS_OK) {
        fuzz_refused(status, &err);
        return 0;
    }
    fuzz_accepted();
    require_sound(&s);
    shards_close(&s);
    return 0;
}
