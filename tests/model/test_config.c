#include "model/config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static struct config good(void)
{
    return config_make(4, 4, 128, 64, 65);
}

Test(config, make_gives_gpt2s_defaults)
{
    struct error err;
    const struct config c = good();
    cr_expect_eq(c.head_size, 32);
    cr_expect(c.bias && c.tied);
    cr_expect_eq(c.dropout, 0);
    cr_expect_eq(c.norm_epsilon, 1e-5);
    cr_expect_eq(c.declared, ATTENTION_CAUSAL);
    cr_expect_eq(c.trained, ATTENTION_CAUSAL);
    cr_expect_eq(config_check(&c, &err), STATUS_OK, "%s", err.message);
}

Test(config, smallest_and_largest_counts_pass)
{
    struct error err;
    const struct config least = config_make(1, 1, 1, 1, 1), most = config_make(4095, 4095, 8190, 4, 5);
    cr_expect_eq(config_check(&least, &err), STATUS_OK, "%s", err.message);
    cr_expect_eq(config_check(&most, &err), STATUS_OK, "%s", err.message);
}

/* Refused, with a message that has every one of the words. */
static void refuses(const struct config *c, const char *first, const char *second)
{
    struct error err = {""};
    cr_expect_eq(config_check(c, &err), STATUS_RANGE, "%s %s passes", first, second);
    cr_expect(strstr(err.message, first), "\"%s\" does not say %s", err.message, first);
    cr_expect(strstr(err.message, second), "\"%s\" does not say %s", err.message, second);
}

Test(config, a_window_goes_with_its_rule)
{
    struct error err;
    struct config c = good();
    c.window = 1;
    refuses(&c, "window is 1", "must be 0");
    c.declared = ATTENTION_WINDOW;
    cr_expect_eq(config_check(&c, &err), STATUS_OK, "%s", err.message);
    c.window = 64;
    cr_expect_eq(config_check(&c, &err), STATUS_OK, "%s", err.message);
    c.window = 65;
    refuses(&c, "window is 65", "1 to block_size, 64");
    c.window = 0;
    refuses(&c, "window is 0", "1 to block_size, 64");
}

Test(config, a_size_out_of_range_is_named_with_what_it_is)
{
    static const struct {
        const char *name;
        size_t place, most;
    } SIZES[] = {
        {"n_layer", offsetof(struct config, n_layer), 4095},
        {"n_head", offsetof(struct config, n_head), 4095},
        {"n_embd", offsetof(struct config, n_embd), (size_t)1 << 20},
        {"block_size", offsetof(struct config, block_size), (size_t)1 << 30},
        {"vocab_size", offsetof(struct config, vocab_size), (size_t)1 << 30},
    };
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        const size_t values[] = {0, SIZES[i].most + 1, SIZE_MAX};
        for (size_t v = 0; v < 3; v++) {
            struct config c = good();
            memcpy((char *)&c + SIZES[i].place, &values[v], sizeof values[v]);
            char found[32], expected[32];
            snprintf(found, sizeof found, "%s is %zu", SIZES[i].name, values[v]);
            snprintf(expected, sizeof expected, "1 to %zu", SIZES[i].most);
            refuses(&c, found, expected);
        }
    }
}

Test(config, heads_must_divide_the_channels)
{
    struct config c = config_make(2, 3, 128, 64, 65);
    refuses(&c, "n_embd is 128", "n_head 3");
    c = config_make(2, 256, 128, 64, 65);
    refuses(&c, "n_embd is 128", "n_head 256");
    c = good();
    c.head_size = 16;
    refuses(&c, "head_size is 16", "32");
}

Test(config, dropout_and_epsilon_have_open_ends)
{
    const double drop_bad[] = {-0.1, 1, 1.5, (double)NAN, (double)INFINITY};
    const double epsilon_bad[] = {0, 1e-39, -1e-5, 1.1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 5; i++) {
        struct config c = good();
        c.dropout = drop_bad[i];
        refuses(&c, "dropout", "less than 1");
    }
    for (size_t i = 0; i < 6; i++) {
        struct config c = good();
        c.norm_epsilon = epsilon_bad[i];
        refuses(&c, "layer_norm_epsilon", "at least");
    }
    struct error err;
    struct config c = good();
    c.dropout = 0.999;
    c.norm_epsilon = 1;
    cr_expect_eq(config_check(&c, &err), STATUS_OK, "%s", err.message);
}

/* 4095 layers of 12 * 2^40 numbers are below 2^56, of at most 64 bytes with gradient and moments: what the limits let
 * through fits a 64-bit machine. A smaller one has to refuse it. */
Test(config, the_largest_sizes_that_pass_do_not_wrap)
{
    struct error err = {""};
    const struct config c = config_make(4095, 1, (size_t)1 << 20, (size_t)1 << 30, (size_t)1 << 30);
    if (sizeof(size_t) < 8)
        refuses(&c, "layers", "smaller");
    else
        cr_expect_eq(config_check(&c, &err), STATUS_OK, "%s", err.message);
}
