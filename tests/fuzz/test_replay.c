/* Every harness over its seeds and regressions, by any compiler: whole, cut at every length, and with each byte changed
 * in turn. What a harness requires of its reader stands at its top. Coverage-guided fuzzing of the same harnesses is
 * `make fuzz`. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/seeds.h"

/* Large seeds are cut and changed at places this far apart at least. */
#define PLACES 600

struct replay {
    int (*harness)(const uint8_t *, size_t);
    size_t inputs;
};

/* In memory of just that size, so that a step past the end is seen. */
static void run(struct replay *r, const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    cr_assert_not_null(copy);
    memcpy(copy, bytes, n);
    r->harness(copy, n);
    r->inputs++;
    free(copy);
}

static void replay(void *context, const char *name, const uint8_t *bytes, size_t n)
{
    struct replay *r = context;
    static const uint8_t changes[] = {'0', '"', ',', '}', '[', 0xFF, 0x00, '9'};
    const size_t stride = n / PLACES + 1;
    const size_t before = fuzz_accepted_count();
    run(r, bytes, n);
    cr_assert_eq(fuzz_accepted_count() == before, strncmp(name, "not-", 4) == 0, "%s is %s", name,
                 fuzz_accepted_count() == before ? "refused" : "accepted");
    for (size_t cut = 0; cut < n; cut += stride)
        run(r, bytes, cut);
    uint8_t *changed = malloc(n + 1);
    cr_assert_not_null(changed);
    memcpy(changed, bytes, n);
    for (size_t at = 0, k = 0; at < n; at += stride, k++) {
        changed[at] = changes[k % sizeof changes];
        run(r, changed, n);
        changed[at] = bytes[at];
    }
    free(changed);
}

static void replay_regressions(struct replay *r, const char *reader)
{
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/tests/fuzz/regressions/%s", NOPEEK_SOURCE, reader);
    DIR *d = opendir(folder);
    const struct dirent *e;
    while (d && (e = readdir(d))) {
        char path[2048];
        size_t n;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        uint8_t *bytes = fuzz_read(&n, path);
        run(r, bytes, n);
        free(bytes);
    }
    if (d)
        closedir(d);
}

static void replay_reader(const char *reader, int (*harness)(const uint8_t *, size_t),
                          void (*seeds)(seeds_emit *, void *))
{
    struct replay r = {.harness = harness};
    replay_regressions(&r, reader);
    seeds(replay, &r);
    fuzz_end();
    const size_t accepted = fuzz_accepted_count();
    cr_assert(r.inputs > 100 && accepted > 1 && accepted < r.inputs, "%zu inputs, %zu accepted: no test", r.inputs,
              accepted);
}

#define REPLAY(reader) replay_reader(#reader, fuzz_##reader, seeds_##reader)

Test(fuzz, safetensors_what_opens_reads_hashes_and_is_written_again)
{
    REPLAY(safetensors);
}

Test(fuzz, config_what_is_accepted_is_sound_and_comes_back)
{
    REPLAY(config);
}

Test(fuzz, tokenizer_every_symbol_is_encoded_to_itself)
{
    REPLAY(tokenizer);
}

Test(fuzz, state_what_is_accepted_keeps_its_bounds_and_comes_back)
{
    REPLAY(state);
}

Test(fuzz, optimizer_moments_that_are_accepted_are_finite_and_come_back)
{
    REPLAY(optimizer);
}

Test(fuzz, metrics_the_log_opens_whatever_it_holds)
{
    REPLAY(metrics);
}

Test(fuzz, text_what_is_accepted_decodes_to_the_very_bytes)
{
    REPLAY(text);
}

Test(fuzz, checkpoint_a_folder_that_is_accepted_is_written_again)
{
    REPLAY(checkpoint);
}

Test(fuzz, shards_lie_in_their_folder_and_share_no_tensor)
{
    REPLAY(shards);
}

Test(fuzz, protocol_numbers_that_are_accepted_were_all_written)
{
    REPLAY(protocol);
}

Test(fuzz, options_settings_that_are_accepted_come_back)
{
    REPLAY(options);
}

Test(fuzz, import_what_is_accepted_becomes_a_run_with_the_same_weights)
{
    REPLAY(import);
}
