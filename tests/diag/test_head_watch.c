#include "diag/head_watch.h"

#include <criterion/criterion.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <string.h>

#define MOST 24 /* heads of all layers */

static struct error err;

/* A run made up: what each head shows at the present step, and what was found so far. */
struct story {
    struct head_watch watch;
    size_t step, found[HEAD_FINDING_KINDS];
    double loss, lr, pace; /* of `due` */
    double entropy[MOST], max_score[MOST], turn[MOST], due[MOST], share[MOST], temperature[MOST];
    struct head_finding last;
    size_t last_heads[MOST];
};

/* Heads that have begun to learn, in the second thousand of steps. */
static void begin(struct story *s, size_t L, size_t H)
{
    memset(s, 0, sizeof *s);
    cr_assert_eq(head_watch_create(&s->watch, L, H, &err), STATUS_OK);
    s->loss = 4;
    s->lr = 1e-3;
    s->pace = 0.01;
    for (size_t i = 0; i < L * H; i++) {
        s->entropy[i] = 0.9;
        s->max_score[i] = 1 + (double)i / 8;
        s->turn[i] = s->due[i] = 0;
        s->share[i] = 0.3;
        s->temperature[i] = 1;
    }
}

static void keep(struct story *s)
{
    for (size_t k = 0; k < s->watch.found; k++) {
        const struct head_finding *f = &s->watch.finding[k];
        cr_assert_eq(f->step, s->step);
        cr_assert(f->count >= 1 && f->count <= s->watch.H && f->of == s->watch.H && f->layer < s->watch.L);
        s->found[f->kind]++;
        s->last = *f;
        memcpy(s->last_heads, f->head, f->count * sizeof *f->head);
        s->last.head = s->last_heads;
    }
}

/* n updates in which nothing but the probe's path changes. */
static void go_on(struct story *s, size_t n)
{
    for (; n > 0; n--) {
        s->step++;
        for (size_t i = 0; i < s->watch.L * s->watch.H; i++)
            s->due[i] += s->pace;
        const struct head_watch_probe probe = {s->turn, s->due, s->share, s->temperature};
        const struct head_watch_look look = {.step = s->step,
                                             .loss = s->loss,
                                             .lr = s->lr,
                                             .entropy = s->entropy,
                                             .max_score = s->max_score,
                                             .probe = s->step % 10 == 0 ? &probe : NULL};
        head_watch_step(&s->watch, &look);
        keep(s);
    }
}

static void turn_all(struct story *s, double turn)
{
    for (size_t i = 0; i < s->watch.L * s->watch.H; i++)
        s->turn[i] = turn;
}

static size_t found(const struct story *s)
{
    size_t n = 0;
    for (size_t k = 0; k < HEAD_FINDING_KINDS; k++)
        n += s->found[k];
    return n;
}

static void set_all(struct story *s, double entropy, double score)
{
    for (size_t i = 0; i < s->watch.L * s->watch.H; i++) {
        s->entropy[i] = entropy;
        s->max_score[i] = score;
    }
}

Test(head_watch, heads_that_learn_in_their_own_time_are_not_spoken_of)
{
    struct story s;
    begin(&s, 3, 4);
    set_all(&s, 0.995, 0.8); /* as all begin */
    for (size_t k = 0; k < 400; k++) {
        go_on(&s, 1);
        turn_all(&s, 0.002 * (double)k);
        s.loss *= 0.998;
        for (size_t i = 0; k > 60 && i < 12; i++) { /* to 0.18 and a score of 35, each at another pace */
            s.entropy[i] = fmax(0.18, s.entropy[i] - 0.003 - 0.0005 * (double)i);
            s.max_score[i] = fmin(35, s.max_score[i] + 0.1 + 0.02 * (double)i);
        }
    }
    cr_assert_eq(found(&s), 0, "%s", head_finding_name(s.last.kind));
    head_watch_free(&s.watch);
}

Test(head_watch, a_head_that_forms_at_once_keeps_its_scores_and_is_no_collapse)
{
    struct story s;
    begin(&s, 2, 4);
    turn_all(&s, 0.2);
    go_on(&s, 100);
    for (size_t k = 0; k < 20; k++) { /* the fastest of ten good seeds: 0.94 to 0.22, 1 to 24 */
        s.entropy[6] -= 0.036;
        s.max_score[6] += 1.15;
        go_on(&s, 1);
    }
    go_on(&s, 100);
    cr_assert_eq(found(&s), 0);
    head_watch_free(&s.watch);
}

/* Steps from the beginning of a fall until it is said. */
static size_t collapse_after(struct story *s, size_t head, double entropy_by, double score_by)
{
    for (size_t k = 1; k <= 200; k++) {
        s->entropy[head] = fmax(0.01, s->entropy[head] * entropy_by);
        s->max_score[head] *= score_by;
        go_on(s, 1);
        if (s->found[HEAD_FINDING_COLLAPSE])
            return k;
    }
    return 0;
}

Test(head_watch, collapse_is_said_once_a_layer_with_head_and_figures)
{
    struct story s;
    begin(&s, 2, 3);
    turn_all(&s, 0.2);
    go_on(&s, 120);
    s.lr = 0.09;
    const double before = s.max_score[4];
    const size_t after = collapse_after(&s, 4, 0.9, 1.3);
    cr_assert(after >= 11 && after <= 16, "%zu", after);
    cr_assert(s.last.kind == HEAD_FINDING_COLLAPSE && s.last.layer == 1 && s.last.count == 1 && s.last.head[0] == 1);
    cr_assert_float_eq(s.last.entropy_before, 0.9, 1e-12);
    cr_assert_float_eq(s.last.entropy, 0.9 * pow(0.9, (double)after), 1e-12);
    cr_assert_float_eq(s.last.max_score_before, before, 1e-12);
    cr_assert_float_eq(s.last.max_score, before * pow(1.3, (double)after), 1e-9);
    cr_assert(s.last.lr == 0.09 && s.last.loss == s.loss && isnan(s.last.share));
    /* It goes on, the rest of its layer follows: no news. Another layer is. */
    s.found[HEAD_FINDING_COLLAPSE] = 0;
    cr_assert_eq(collapse_after(&s, 3, 0.9, 1.3), 0);
    cr_assert_gt(collapse_after(&s, 2, 0.9, 1.3), 0);
    cr_assert(s.last.layer == 0 && s.last.head[0] == 2);
    head_watch_free(&s.watch);
}

Test(head_watch, a_fall_between_two_looks_is_seen_and_a_slow_one_is_not)
{
    struct story s;
    begin(&s, 1, 2);
    turn_all(&s, 0.2);
    go_on(&s, 1);
    s.entropy[0] = 0.05; /* in one step, as with a learning rate of 1 */
    s.max_score[0] = 1000;
    go_on(&s, 1);
    cr_assert(s.found[HEAD_FINDING_COLLAPSE] == 1 && s.step == 2);
    head_watch_free(&s.watch);
    begin(&s, 1, 2);
    turn_all(&s, 0.2);
    s.entropy[0] = 0.9; /* as far, in 1000 steps */
    go_on(&s, 60);
    for (size_t k = 0; k < 1000; k++) {
        s.entropy[0] *= 0.9975;
        s.max_score[0] *= 1.005;
        go_on(&s, 1);
    }
    cr_assert(s.entropy[0] < 0.1 && s.max_score[0] > 100);
    cr_assert_eq(found(&s), 0);
    head_watch_free(&s.watch);
}

Test(head_watch, neither_a_fall_nor_a_rise_alone_is_a_collapse)
{
    struct story s;
    begin(&s, 1, 2);
    turn_all(&s, 0.2);
    go_on(&s, 50);
    s.entropy[0] = 0.02;
    s.max_score[1] = 5000;
    go_on(&s, 200);
    cr_assert_eq(found(&s), 0);
    head_watch_free(&s.watch);
}

Test(head_watch, uniform_is_said_once_of_all_heads_when_weights_turn_and_the_loss_falls)
{
    struct story s;
    begin(&s, 3, 2);
    set_all(&s, 0.995, 0.3);
    turn_all(&s, 0.15); /* where good models leave it at the latest */
    s.loss = 3;
    go_on(&s, 300);
    cr_assert_eq(found(&s), 0);
    turn_all(&s, 0.4);
    go_on(&s, 100);
    cr_assert_eq(found(&s), 0, "nothing is learnt at all: it is not the heads' fault");
    s.loss = 2.5;
    go_on(&s, 10);
    cr_assert_eq(s.found[HEAD_FINDING_UNIFORM], 3);
    cr_assert(s.last.layer == 2 && s.last.count == 2 && s.last.cause == HEAD_FINDING_FLAT);
    cr_assert(s.last.turn == 0.4 && s.last.temperature == 1);
    go_on(&s, 500);
    cr_assert_eq(found(&s), 3);
    head_watch_free(&s.watch);
}

Test(head_watch, a_tenth_of_the_heads_may_stay_uniform_or_leave_it)
{
    struct story s;
    begin(&s, 2, 10);
    turn_all(&s, 0.6);
    go_on(&s, 1);
    s.loss = 1;
    s.entropy[3] = s.entropy[17] = 1; /* wasted, which good models have too */
    go_on(&s, 200);
    cr_assert_eq(found(&s), 0);
    set_all(&s, 0.99, 0.3);
    for (size_t i = 0; i < 3; i++)
        s.entropy[i] = 0.97;
    go_on(&s, 100);
    cr_assert_eq(found(&s), 0);
    s.entropy[0] = 0.99;
    go_on(&s, 10);
    cr_assert_eq(s.found[HEAD_FINDING_UNIFORM], 2);
    cr_assert(s.last.layer == 1 && s.last.count == 10);
    head_watch_free(&s.watch);
}

Test(head_watch, a_hot_softmax_is_told_from_frozen_weights)
{
    for (int hot = 0; hot < 2; hot++) {
        struct story s;
        begin(&s, 2, 2);
        set_all(&s, 0.999, 0.1);
        turn_all(&s, hot ? 0.1 : 0);
        for (size_t i = 0; hot && i < 4; i++)
            s.temperature[i] = 20;
        go_on(&s, hot ? 20 : 40);
        cr_assert_eq(found(&s), 0, "too early to say");
        go_on(&s, 300);
        cr_assert(s.found[HEAD_FINDING_UNIFORM] == 2 && found(&s) == 2, "frozen is not said a second time");
        cr_assert_eq(s.last.cause, hot ? HEAD_FINDING_HOT : HEAD_FINDING_STILL);
        cr_assert(!hot || s.last.temperature == 20);
        head_watch_free(&s.watch);
    }
}

Test(head_watch, frozen_heads_are_named_where_attention_is_not_uniform)
{
    struct story s;
    begin(&s, 2, 4);
    turn_all(&s, 0.01);
    s.turn[5] = s.turn[6] = 1e-5;
    go_on(&s, 300);
    cr_assert(s.found[HEAD_FINDING_FROZEN] == 1 && found(&s) == 1);
    cr_assert(s.last.step == 50 && s.last.layer == 1 && s.last.count == 2 && s.last.head[0] == 1);
    cr_assert_eq(s.last.turn, 1e-5);
    head_watch_free(&s.watch);
}

Test(head_watch, a_head_that_has_nothing_to_learn_by_is_not_frozen)
{
    struct story s;
    begin(&s, 1, 2); /* one key alone, as with a context of 1 */
    s.entropy[0] = s.entropy[1] = (double)NAN;
    go_on(&s, 300);
    cr_assert_eq(found(&s), 0);
    head_watch_free(&s.watch);
    begin(&s, 1, 2); /* a learning rate of 0 */
    s.pace = 0;
    go_on(&s, 300);
    cr_assert_eq(found(&s), 0);
    head_watch_free(&s.watch);
}

Test(head_watch, weights_that_have_turned_all_they_can_are_not_frozen_however_long_the_run)
{
    struct story s;
    begin(&s, 1, 2);
    turn_all(&s, 0.9);
    s.pace = 10; /* 10,000 times what there is to turn */
    go_on(&s, 1000);
    cr_assert_eq(found(&s), 0);
    turn_all(&s, 0.9e-3);
    go_on(&s, 10);
    cr_assert_eq(s.found[HEAD_FINDING_FROZEN], 1);
    head_watch_free(&s.watch);
}

Test(head_watch, dead_is_said_when_it_lasts_and_only_of_heads_that_add_nothing)
{
    struct story s;
    begin(&s, 2, 3);
    turn_all(&s, 0.3);
    s.share[1] = 0.01; /* little, as good heads may */
    s.share[4] = 1e-5;
    s.turn[4] = 0; /* nothing is learnt through it either: that is the lesser news */
    go_on(&s, 50);
    s.share[4] = 0.2;
    go_on(&s, 20);
    s.share[4] = 0;
    go_on(&s, 50);
    cr_assert_eq(s.found[HEAD_FINDING_DEAD], 0, "not yet long enough, and before it came back");
    go_on(&s, 300);
    cr_assert(s.found[HEAD_FINDING_DEAD] == 1 && s.last.kind == HEAD_FINDING_DEAD);
    cr_assert(s.last.step == 130 && s.last.layer == 1 && s.last.count == 1 && s.last.head[0] == 1);
    head_watch_free(&s.watch);
    begin(&s, 1, 1);
    turn_all(&s, 0.3);
    s.share[0] = 1e-6;
    go_on(&s, 100);
    cr_assert_eq(s.found[HEAD_FINDING_DEAD], 1, "the only head of a layer too");
    head_watch_free(&s.watch);
}

/* Maps of one layer of three heads: 0 and 2 alike as given, 1 far away. */
static void maps(struct story *s, double alike, double from_uniform)
{
    const double distance[] = {0, 0.5, alike, 0.5, 0, 0.5, alike, 0.5, 0};
    const double apart[] = {from_uniform, 0.4, from_uniform};
    head_watch_maps(&s->watch, s->step, distance, apart);
    keep(s);
}

Test(head_watch, duplicates_are_a_pair_that_looks_somewhere_in_particular)
{
    struct story s;
    begin(&s, 1, 3);
    maps(&s, 0.0, 0.05);
    cr_assert_eq(found(&s), 0, "both are nearly uniform");
    maps(&s, 0.03, 0.5);
    cr_assert_eq(found(&s), 0, "as near as good heads come");
    maps(&s, 0.015, 0.12);
    cr_assert_eq(found(&s), 0, "near, but so is everything here");
    maps(&s, (double)NAN, (double)NAN);
    cr_assert_eq(found(&s), 0, "one key alone");
    maps(&s, 0.01, 0.5);
    cr_assert(s.found[HEAD_FINDING_DUPLICATE] == 1 && s.last.count == 2);
    cr_assert(s.last.head[0] == 0 && s.last.head[1] == 2 && s.last.distance == 0.01);
    maps(&s, 0.0, 0.5);
    cr_assert_eq(found(&s), 1);
    head_watch_free(&s.watch);
}

Test(head_watch, heads_that_are_all_the_same_are_said_together)
{
    struct story s;
    double distance[2 * 12 * 12] = {0}, apart[24];
    begin(&s, 2, 12);
    for (size_t i = 0; i < 24; i++)
        apart[i] = 0.6;
    for (size_t i = 0; i < 12; i++) /* but for one head of layer 0 */
        distance[i * 12 + 4] = distance[4 * 12 + i] = i == 4 ? 0 : 0.4;
    head_watch_maps(&s.watch, 0, distance, apart);
    keep(&s);
    cr_assert(found(&s) == 2 && s.watch.finding[0].count == 11 && s.watch.finding[1].count == 12);
    cr_assert(s.watch.finding[0].head[4] == 5 && s.watch.finding[1].layer == 1);
    head_watch_maps(&s.watch, 0, distance, apart);
    cr_assert_eq(s.watch.found, 0);
    for (size_t i = 0; i < 12; i++) /* the odd one joins them */
        distance[i * 12 + 4] = distance[4 * 12 + i] = 0.01;
    head_watch_maps(&s.watch, 0, distance, apart);
    keep(&s);
    cr_assert(s.watch.found == 1 && s.last.count == 2 && s.last.head[0] == 4 && s.last.distance == 0.01);
    head_watch_free(&s.watch);
}

/* Every other head is like head 0 alone: the most findings that there can be. */
Test(head_watch, likeness_that_does_not_carry_over_stays_within_bounds)
{
    struct story s;
    static double distance[MOST * MOST], apart[MOST];
    begin(&s, 1, MOST);
    head_watch_said(&s.watch, HEAD_FINDING_DUPLICATE, 0, 0);
    for (size_t i = 0; i < MOST * MOST; i++) {
        distance[i] = i < MOST || i % MOST == 0 ? 0.001 : 0.5;
        apart[i % MOST] = 0.6;
    }
    head_watch_maps(&s.watch, 0, distance, apart);
    keep(&s);
    cr_assert_eq(found(&s), MOST - 1);
    cr_assert(s.last.count == 2 && s.last.head[0] == 0 && s.last.head[1] == MOST - 1);
    cr_assert_leq(s.watch.heads_used, 2 * MOST);
    head_watch_free(&s.watch);
}

Test(head_watch, in_a_layer_that_collapsed_nothing_else_is_said)
{
    struct story s;
    begin(&s, 1, 3);
    turn_all(&s, 0.2);
    cr_assert_gt(collapse_after(&s, 1, 0.9, 1.3), 0);
    maps(&s, 0.0, 0.5);
    s.share[2] = 0;
    go_on(&s, 200);
    cr_assert_eq(found(&s), 1);
    head_watch_free(&s.watch);
}

Test(head_watch, what_was_said_before_resuming_is_not_said_again)
{
    struct story s;
    begin(&s, 2, 3);
    head_watch_said(&s.watch, HEAD_FINDING_COLLAPSE, 1, 0);
    head_watch_said(&s.watch, HEAD_FINDING_DEAD, 0, 2);
    head_watch_said(&s.watch, HEAD_FINDING_KINDS, 0, 0); /* a log may hold anything */
    head_watch_said(&s.watch, HEAD_FINDING_DEAD, 7, 0);
    head_watch_said(&s.watch, HEAD_FINDING_DEAD, 0, 7);
    turn_all(&s, 0.2);
    s.share[2] = s.share[1] = 0;
    go_on(&s, 100);
    cr_assert(s.found[HEAD_FINDING_DEAD] == 1 && s.last.count == 1 && s.last.head[0] == 1);
    cr_assert_eq(collapse_after(&s, 5, 0.9, 1.3), 0, "another head of a layer that was spoken of");
    cr_assert_gt(collapse_after(&s, 0, 0.9, 1.3), 0);
    head_watch_free(&s.watch);
}

Test(head_watch, a_collapse_that_began_before_resuming_is_found_after_it)
{
    struct story s;
    begin(&s, 1, 2);
    s.step = 1000;
    const double entropy[] = {0.9, 0.9}, score[] = {2, 2};
    for (size_t step = 960; step <= 1000; step += 10) {
        const struct head_watch_look look = {.step = step, .loss = 3, .entropy = entropy, .max_score = score};
        head_watch_recall(&s.watch, &look);
        cr_assert_eq(s.watch.found, 0);
    }
    turn_all(&s, 0.2);
    s.entropy[1] = 0.2;
    s.max_score[1] = 90;
    go_on(&s, 1);
    cr_assert(s.found[HEAD_FINDING_COLLAPSE] == 1 && s.last.entropy_before == 0.9);
    head_watch_free(&s.watch);
    begin(&s, 1, 2); /* and what lies further back than it looks is forgotten */
    s.step = 1000;
    const struct head_watch_look old = {.step = 940, .loss = 3, .entropy = entropy, .max_score = score};
    head_watch_recall(&s.watch, &old);
    turn_all(&s, 0.2);
    s.entropy[1] = 0.2;
    s.max_score[1] = 90;
    go_on(&s, 60);
    cr_assert_eq(found(&s), 0);
    head_watch_free(&s.watch);
}

Test(head_watch, nan_is_passed_over)
{
    struct story s;
    begin(&s, 1, 3);
    turn_all(&s, 0.2);
    s.entropy[1] = (double)NAN;
    s.share[2] = s.temperature[2] = s.turn[2] = (double)NAN;
    go_on(&s, 60);
    s.entropy[1] = 0.1;
    s.max_score[1] = 100;
    go_on(&s, 1);
    cr_assert_eq(found(&s), 0, "fallen from nowhere");
    s.entropy[0] = 0.1;
    s.max_score[0] = (double)NAN;
    go_on(&s, 1);
    cr_assert_eq(found(&s), 0);
    s.max_score[0] = 100;
    go_on(&s, 1);
    cr_assert_eq(s.found[HEAD_FINDING_COLLAPSE], 1);
    head_watch_free(&s.watch);
}

/* What malloc has given out, where the system says so. */
static size_t given_out(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

Test(head_watch, a_long_run_takes_no_more_memory_than_a_short_one)
{
    struct story s;
    begin(&s, 2, 3);
    turn_all(&s, 0.2);
    go_on(&s, 100);
    const size_t before = given_out();
    go_on(&s, 50000);
    cr_assert_eq(given_out(), before);
    cr_assert_lt(s.watch.arena.size, 16384);
    head_watch_free(&s.watch);
}
