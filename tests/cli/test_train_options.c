#include "cli/train_options.h"

#include <criterion/criterion.h>
#include <string.h>

static struct options options;
static struct train_options t;
static struct error err;

/* Parses these words as `nopeek train` would. */
#define PARSE(...) parse((char *[]){"train", __VA_ARGS__, NULL})
static void parse(char *const *argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    t = (struct train_options){0};
    cr_assert_eq(options_parse(&options, "train", train_options_table, &t, argc, argv, &err), STATUS_OK, "%s",
                 err.message);
}

static void done(void)
{
    options_free(&options);
}

Test(train_options, nano_cpu_is_nanogpts_setting_for_a_cpu)
{
    PARSE("--preset", "nano-cpu", "x");
    cr_assert_eq(train_options_preset(&options, &t, &err), STATUS_OK, "%s", err.message);
    cr_assert(t.n_layer == 4 && t.n_head == 4 && t.n_embd == 128 && t.block_size == 64 && t.batch_size == 12);
    cr_assert(t.steps == 2000 && t.dropout == 0 && t.lr == 1e-3 && t.min_lr == 1e-4 && t.warmup == 100);
    cr_assert(t.beta1 == 0.9 && t.beta2 == 0.99 && t.weight_decay == 0.1 && t.grad_clip == 1 && !t.bias && t.tied);
    done();
}

Test(train_options, nano_is_its_setting_for_a_gpu)
{
    PARSE("--preset", "nano", "x");
    cr_assert_eq(train_options_preset(&options, &t, &err), STATUS_OK, "%s", err.message);
    cr_assert(t.n_layer == 6 && t.n_head == 6 && t.n_embd == 384 && t.block_size == 256 && t.batch_size == 64);
    cr_assert(t.steps == 5000 && t.dropout == 0.2 && t.lr == 1e-3 && !t.bias);
    done();
}

Test(train_options, what_a_person_gave_wins_over_a_preset_and_over_the_text)
{
    PARSE("--n-layer", "2", "x", "--preset", "nano-cpu", "--lr", "0.5");
    cr_assert_eq(train_options_preset(&options, &t, &err), STATUS_OK);
    cr_assert(t.n_layer == 2 && t.lr == 0.5 && t.n_embd == 128);
    done();
    PARSE("--block-size", "7", "x");
    cr_assert_eq(train_options_suit(&options, &t, 3, &err), STATUS_OK);
    cr_assert_eq(t.block_size, 7, "too long for the text, but asked for");
    done();
}

Test(train_options, a_longer_text_gets_a_larger_model)
{
    const size_t symbols[] = {100, 19999, 20000, 199999, 200000, 1000000000};
    size_t before = 0;
    for (size_t i = 0; i < 6; i++) {
        PARSE("x");
        cr_assert_eq(train_options_preset(&options, &t, &err), STATUS_OK);
        cr_assert_eq(train_options_suit(&options, &t, symbols[i], &err), STATUS_OK);
        const size_t size = t.n_layer * t.n_embd * t.n_embd;
        cr_assert(i % 2 ? size == before || i == 1 || i == 3 : size > before || i == 0, "%zu symbols", symbols[i]);
        before = size;
        const struct config c = train_options_config(&t, 50);
        cr_assert_eq(config_check(&c, &err), STATUS_OK, "%s", err.message);
        const struct trainer_settings s = train_options_settings(&t);
        cr_assert_eq(trainer_check_settings(&s, &err), STATUS_OK, "%s", err.message);
        done();
    }
}

Test(train_options, the_context_leaves_room_for_its_target)
{
    for (size_t symbols = 2; symbols < 70; symbols++) {
        PARSE("x");
        cr_assert_eq(train_options_suit(&options, &t, symbols, &err), STATUS_OK);
        cr_assert_eq(t.block_size, symbols - 1 < 32 ? symbols - 1 : 32);
        done();
    }
    for (size_t symbols = 0; symbols < 2; symbols++) { /* refused later, with the counts */
        PARSE("x");
        cr_assert_eq(train_options_suit(&options, &t, symbols, &err), STATUS_OK);
        cr_assert_geq(t.block_size, 1);
        done();
    }
}

Test(train_options, model_and_settings_are_what_the_options_say)
{
    PARSE("x", "--n-layer", "3", "--n-head", "2", "--n-embd", "10", "--block-size", "9", "--dropout", "0.25", "--bias",
          "--no-tied", "--batch-size", "5", "--grad-accum", "7", "--steps", "11", "--warmup", "4", "--lr", "0.5",
          "--min-lr", "0.125", "--weight-decay", "0.0625", "--beta1", "0.75", "--beta2", "0.5", "--grad-clip", "2",
          "--seed", "99", "--threads", "3", "--eval-interval", "12", "--eval-windows", "13", "--log-interval", "14",
          "--save-every", "15", "--keep", "16", "--stop-after", "17", "--max-time", "1.5", "--sample-size", "18",
          "--allow-leak", "--mask", "none");
    const struct config c = train_options_config(&t, 21);
    cr_assert(c.n_layer == 3 && c.n_head == 2 && c.n_embd == 10 && c.head_size == 5 && c.block_size == 9);
    cr_assert(c.vocab_size == 21 && c.dropout == 0.25 && c.bias && !c.tied);
    cr_assert(c.declared == ATTENTION_CAUSAL && c.trained == ATTENTION_FULL);
    const struct trainer_settings s = train_options_settings(&t);
    cr_assert(s.schedule.lr == 0.5 && s.schedule.min_lr == 0.125 && s.schedule.warmup == 4 && s.schedule.steps == 11);
    cr_assert(s.batch_size == 5 && s.grad_accum == 7 && s.weight_decay == 0.0625 && s.beta1 == 0.75 && s.beta2 == 0.5);
    cr_assert(s.grad_clip == 2 && s.seed == 99 && s.team.threads == 3 && s.eval_interval == 12 && s.eval_windows == 13);
    cr_assert(s.log_interval == 14 && s.save_every == 15 && s.keep == 16 && s.stop_after == 17 && s.max_time == 1.5);
    cr_assert(s.sample_size == 18 && s.allow_leak);
    done();
    PARSE("x");
    cr_assert_eq(train_options_config(&t, 21).trained, ATTENTION_CAUSAL);
    done();
    for (int leaky = 0; leaky < 2; leaky++) {
        PARSE("x", "--window", "7", "--mask", leaky ? "none" : "causal");
        const struct config windowed = train_options_config(&t, 21);
        cr_assert(windowed.window == 7 && windowed.declared == ATTENTION_WINDOW);
        cr_assert_eq(windowed.trained, leaky ? ATTENTION_FULL : ATTENTION_WINDOW);
        done();
    }
}
