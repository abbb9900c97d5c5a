#include "diag/gradcheck.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/tiny.h"

/* What a training step with dropout draws from. */
static const struct gpt_pass DROPPING = {.training = true, .seed = 5, .step = 9, .first_row = 3};

static struct gradcheck_step step_of(struct tiny *t, const struct gpt_pass *pass)
{
    return (struct gradcheck_step){&t->model, &t->work, t->tokens, t->targets, t->micro, t->B, t->T, *pass};
}

/* Checks all numbers of a model, requires that every tensor and view was there, and returns the worst error. */
static double check(struct tiny *t, const struct gpt_pass *pass)
{
    struct error err;
    struct gradcheck c;
    struct gradcheck_step step = step_of(t, pass);
    const struct gradcheck_learner learner = gradcheck_of_step(&step);
    const size_t bytes = t->model.table.size * sizeof(real);
    real *before = malloc(bytes);
    memcpy(before, t->model.params, bytes);
    cr_assert_eq(gradcheck_run(&c, t->model.params, &t->model.table, &learner, 0, 1, &err), STATUS_OK, "%s",
                 err.message);
    cr_assert_eq(memcmp(before, t->model.params, bytes), 0, "the check must leave the weights as they were");
    free(before);
    size_t covered = 0, views = 0;
    for (size_t i = 0; i < c.count; i++) {
        covered += c.result[i].view ? 0 : c.result[i].checked;
        views += c.result[i].view;
    }
    cr_assert_eq(covered, t->model.table.size);
    cr_assert_eq(views, t->model.config.n_layer * (t->model.config.bias ? 6 : 3));
    const struct gradcheck_result *worst = gradcheck_worst(&c);
    cr_expect_leq(worst->error, GRADCHECK_TOLERANCE, "%s[%zu]: gradient %.12g, measured %.12g, error %.3g", worst->name,
                  worst->worst, worst->gradient, worst->measured, worst->error);
    const double error = worst->error;
    gradcheck_free(&c);
    return error;
}

/* The shapes: sizes that are odd, equal or one; options each way. */
static const struct {
    size_t L, H, C, block, V, micro, B, T;
    bool bias, tied;
    double dropout;
} SHAPES[] = {
    {2, 2, 6, 7, 11, 1, 2, 5, true, true, 0},      {2, 3, 6, 8, 5, 1, 1, 8, false, true, 0},
    {1, 1, 5, 9, 13, 1, 3, 9, true, false, 0},     {2, 4, 8, 6, 7, 2, 1, 3, false, false, 0},
    {1, 5, 5, 4, 3, 1, 2, 4, true, true, 0},       {1, 1, 1, 3, 4, 1, 2, 3, true, true, 0},
    {1, 2, 4, 5, 6, 1, 1, 1, true, true, 0},       {2, 2, 6, 7, 11, 3, 2, 5, true, true, 0.3},
    {1, 1, 7, 19, 5, 1, 1, 19, false, false, 0.5}, {1, 1, 2, 3, 1, 1, 1, 3, true, true, 0},
};

Test(gradcheck, every_tensor_and_view_passes_at_ragged_sizes)
{
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        struct config c = config_make(SHAPES[i].L, SHAPES[i].H, SHAPES[i].C, SHAPES[i].block, SHAPES[i].V);
        c.bias = SHAPES[i].bias;
        c.tied = SHAPES[i].tied;
        c.dropout = SHAPES[i].dropout;
        struct tiny t;
        tiny_make(&t, &c, SHAPES[i].micro, SHAPES[i].B, SHAPES[i].T, 1);
        const double error = check(&t, c.dropout > 0 ? &DROPPING : &gpt_evaluating);
        cr_expect(c.vocab_size == 1 || error > 0, "numbers that were measured cannot agree to the last bit");
        tiny_free(&t);
    }
}

static void check_small(void (*change)(struct tiny *t))
{
    struct config c = config_make(2, 2, 6, 9, 7);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 9, 1);
    change(&t);
    check(&t, &gpt_evaluating);
    tiny_free(&t);
}

/* GELU's flat and straight ends. */
static void saturate(struct tiny *t)
{
    static const real AT[] = {-100, -30, -10, -5, 5, 10, 30, 100};
    real *bias = tiny_tensor(t, t->model.params, PARAMS_FC_BIAS, 0);
    for (size_t i = 0; i < 4 * t->model.config.n_embd; i++)
        bias[i] = AT[i % (sizeof AT / sizeof *AT)];
}

Test(gradcheck, passes_at_extreme_preactivations)
{
    check_small(saturate);
}

/* Softmax near one-hot: most weights vanish, and some differences are tiny. */
Test(gradcheck, passes_at_scores_near_100)
{
    struct config c = config_make(2, 2, 6, 9, 7);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 9, 1);
    tiny_sharpen(&t, 0, 30);
    tiny_sharpen(&t, 1, 10);
    gpt_forward(&t.model, &t.work, t.tokens, t.B, t.T, &gpt_evaluating);
    real most = 0;
    for (size_t i = 0; i < t.B * c.n_head * t.T; i++)
        most = t.work.block[0].rows.max_score[i] > most ? t.work.block[0].rows.max_score[i] : most;
    cr_expect_gt(most, 80);
    check(&t, &gpt_evaluating);
    tiny_free(&t);
}

static void start_afresh(struct tiny *t)
{
    params_init(t->model.params, &t->model.table, &t->model.config, 3);
}

Test(gradcheck, passes_at_initialisation)
{
    check_small(start_afresh);
}

static void show_everything(struct tiny *t)
{
    t->model.rules[1] = ATTENTION_FULL;
}

Test(gradcheck, passes_where_a_head_sees_everything)
{
    check_small(show_everything);
}

/* ---- a wrong backward pass must be caught, and named ---- */

struct faulty {
    struct gradcheck_step *step;
    struct tiny *t;
    void (*spoil)(struct tiny *t, real *grads);
    struct gradcheck_learner right;
};

static double faulty_loss(void *context)
{
    const struct faulty *f = context;
    return f->right.loss(f->right.context);
}

static double faulty_gradient(void *context, real *grads)
{
    const struct faulty *f = context;
    const double loss = f->right.loss_and_gradient(f->right.context, grads);
    f->spoil(f->t, grads);
    return loss;
}

/* Columns [begin, begin + n) of layer 1's QKV weight times factor. */
static void scale_view(struct tiny *t, real *grads, size_t view, double factor)
{
    const size_t C = t->model.config.n_embd;
    real *dw = tiny_tensor(t, grads, PARAMS_QKV, 1);
    for (size_t i = 0; i < C; i++)
        for (size_t o = 0; o < C; o++)
            dw[i * 3 * C + view * C + o] *= (real)factor;
}

static void scale_tensor(struct tiny *t, real *grads, enum params_kind kind, size_t layer, double factor)
{
    const struct params_tensor *p = params_find(&t->model.table, kind, layer);
    for (size_t i = 0; i < p->rows * p->cols; i++)
        grads[p->offset + i] *= (real)factor;
}

static void wrong_sign_of_values(struct tiny *t, real *grads)
{
    scale_view(t, grads, 2, -1);
}

static void scale_missing_in_keys(struct tiny *t, real *grads)
{
    scale_view(t, grads, 1, sqrt((double)t->model.config.head_size));
}

static void queries_and_keys_swapped(struct tiny *t, real *grads)
{
    const size_t C = t->model.config.n_embd;
    real *dw = tiny_tensor(t, grads, PARAMS_QKV, 1);
    for (size_t i = 0; i < C; i++)
        for (size_t o = 0; o < C; o++) {
            const real q = dw[i * 3 * C + o];
            dw[i * 3 * C + o] = dw[i * 3 * C + C + o];
            dw[i * 3 * C + C + o] = q;
        }
}

static void bias_dropped(struct tiny *t, real *grads)
{
    scale_tensor(t, grads, PARAMS_FC_BIAS, 0, 0);
}

/* d of a square matrix laid out the other way round: a test of shapes would pass it. */
static void projection_transposed(struct tiny *t, real *grads)
{
    const size_t C = t->model.config.n_embd;
    real *dw = tiny_tensor(t, grads, PARAMS_PROJ, 0);
    for (size_t i = 0; i < C; i++)
        for (size_t o = 0; o < i; o++) {
            const real kept = dw[i * C + o];
            dw[i * C + o] = dw[o * C + i];
            dw[o * C + i] = kept;
        }
}

/* A tied matrix is used twice: its gradient here lacks the part from looking symbols up. */
static void lookup_missing(struct tiny *t, real *grads)
{
    const size_t C = t->model.config.n_embd;
    real *de = tiny_tensor(t, grads, PARAMS_TOKEN_EMBEDDING, 0);
    for (size_t n = 0; n < t->B * t->T; n++)
        for (size_t c = 0; c < C; c++)
            de[t->tokens[n] * C + c] -= t->work.dres[n * C + c];
}

static void positions_off_by_one(struct tiny *t, real *grads)
{
    const size_t C = t->model.config.n_embd;
    real *dp = tiny_tensor(t, grads, PARAMS_POSITION_EMBEDDING, 0);
    memmove(dp + C, dp, (t->model.config.block_size - 1) * C * sizeof *dp);
}

static void gain_not_a_number(struct tiny *t, real *grads)
{
    tiny_tensor(t, grads, PARAMS_LN2_GAIN, 1)[2] = (real)NAN;
}

static void everything_zero(struct tiny *t, real *grads)
{
    memset(grads, 0, t->model.table.size * sizeof *grads);
}

static const struct plant {
    const char *what;
    void (*spoil)(struct tiny *t, real *grads);
    const char *named[4]; /* the results that must fail, and no others; NULL first: all must */
} PLANTS[] = {
    {"wrong sign",
     wrong_sign_of_values,
     {"transformer.h.1.attn.c_attn.weight", "transformer.h.1.attn.c_attn.weight:W_V"}},
    {"missing scale",
     scale_missing_in_keys,
     {"transformer.h.1.attn.c_attn.weight", "transformer.h.1.attn.c_attn.weight:W_K"}},
    {"swapped views",
     queries_and_keys_swapped,
     {"transformer.h.1.attn.c_attn.weight", "transformer.h.1.attn.c_attn.weight:W_Q",
      "transformer.h.1.attn.c_attn.weight:W_K"}},
    {"dropped bias", bias_dropped, {"transformer.h.0.mlp.c_fc.bias"}},
    {"transposed", projection_transposed, {"transformer.h.0.attn.c_proj.weight"}},
    {"missing term", lookup_missing, {"transformer.wte.weight"}},
    {"off by one", positions_off_by_one, {"transformer.wpe.weight"}},
    {"not a number", gain_not_a_number, {"transformer.h.1.ln_2.weight"}},
    {"all zero", everything_zero, {NULL}},
};

static bool must_fail(const struct plant *p, const char *name)
{
    for (size_t i = 0; i < sizeof p->named / sizeof *p->named && p->named[i]; i++)
        if (!strcmp(p->named[i], name))
            return true;
    return false;
}

/* Queries and keys have small gradients beside those of the values: in the tensor of all three a fault of one may be
 * below what float can tell. That is what the views are for. */
static bool diluted(const struct tiny *t, const struct gradcheck_result *r)
{
    return sizeof(real) < sizeof(double) && !r->view && t->model.table.tensor[r->tensor].kind == PARAMS_QKV;
}

static void expect_caught(const struct tiny *t, const struct plant *plant, const struct gradcheck *g)
{
    size_t failures = 0, named = 0;
    for (size_t i = 0; i < g->count; i++) {
        const struct gradcheck_result *r = &g->result[i];
        const bool failed = !(r->error <= GRADCHECK_TOLERANCE), must = must_fail(plant, r->name);
        failures += failed;
        named += must;
        if (plant->named[0] && !diluted(t, r))
            cr_expect_eq(failed, must, "%s: %s has error %.3g", plant->what, r->name, r->error);
    }
    for (size_t i = 0; i < sizeof plant->named / sizeof *plant->named; i++)
        named -= plant->named[i] != NULL;
    cr_expect_eq(named, 0, "%s: every name of the plant is a result's", plant->what);
    if (!plant->named[0])
        cr_expect_gt(failures, g->count / 2, "%s", plant->what);
    cr_expect_gt(gradcheck_worst(g)->error, 0.2, "%s", plant->what);
}

Test(gradcheck, names_the_tensor_and_view_of_every_planted_fault)
{
    struct error err;
    struct config c = config_make(2, 2, 6, 9, 7);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 9, 1);
    struct gradcheck_step step = step_of(&t, &gpt_evaluating);
    for (size_t i = 0; i < sizeof PLANTS / sizeof *PLANTS; i++) {
        struct faulty f = {&step, &t, PLANTS[i].spoil, gradcheck_of_step(&step)};
        const struct gradcheck_learner learner = {&f, faulty_loss, faulty_gradient};
        struct gradcheck g;
        cr_assert_eq(gradcheck_run(&g, t.model.params, &t.model.table, &learner, 0, 1, &err), STATUS_OK);
        expect_caught(&t, &PLANTS[i], &g);
        gradcheck_free(&g);
    }
    tiny_free(&t);
}

/* Dropout's masks are drawn again in the backward pass; from other counters they are other masks. */
static double other_masks(void *context, real *grads)
{
    struct gradcheck_step *s = context;
    memset(grads, 0, s->model->table.size * sizeof *grads);
    gpt_forward(s->model, s->work, s->tokens, s->B, s->T, &s->pass);
    gpt_loss(s->model, s->work, s->targets, s->B, s->T);
    const double loss = gpt_mean_loss(s->work, s->B * s->T);
    gpt_loss_backward(s->model, s->work, s->targets, (real)(1 / (double)(s->B * s->T)), s->B, s->T);
    struct gpt_pass pass = s->pass;
    pass.step++;
    gpt_backward(s->model, s->work, s->tokens, s->B, s->T, &pass, grads);
    return loss;
}

/* The second batch's gradient takes the place of the first one's. */
static double not_accumulated(void *context, real *grads)
{
    const struct gradcheck_step *s = context;
    double sum = 0;
    for (size_t m = 0; m < s->micro; m++) {
        struct gradcheck_step one = *s;
        one.tokens += m * s->B * s->T;
        one.targets += m * s->B * s->T;
        one.micro = 1;
        const struct gradcheck_learner learner = gradcheck_of_step(&one);
        sum += learner.loss_and_gradient(learner.context, grads);
    }
    return sum / (double)s->micro;
}

static double run_error(struct tiny *t, const struct gradcheck_learner *learner, size_t most)
{
    struct error err;
    struct gradcheck c;
    cr_assert_eq(gradcheck_run(&c, t->model.params, &t->model.table, learner, most, 1, &err), STATUS_OK);
    const double error = gradcheck_worst(&c)->error;
    gradcheck_free(&c);
    return error;
}

Test(gradcheck, catches_masks_and_sums_that_go_wrong)
{
    struct config c = config_make(1, 2, 4, 5, 6);
    c.dropout = 0.4;
    struct tiny t;
    tiny_make(&t, &c, 2, 2, 5, 1);
    struct gradcheck_step step = step_of(&t, &gpt_evaluating);
    struct gradcheck_learner learner = gradcheck_of_step(&step);
    cr_expect_leq(run_error(&t, &learner, 0), GRADCHECK_TOLERANCE);
    learner.loss_and_gradient = not_accumulated;
    cr_expect_gt(run_error(&t, &learner, 0), 0.2);

    step = step_of(&t, &DROPPING);
    step.micro = 1;
    learner = gradcheck_of_step(&step);
    cr_expect_leq(run_error(&t, &learner, 0), GRADCHECK_TOLERANCE);
    learner.loss_and_gradient = other_masks;
    cr_expect_gt(run_error(&t, &learner, 0), 0.2);
    tiny_free(&t);
}

/* A few numbers of each tensor: waking a team for every loss takes its time. */
Test(gradcheck, passes_on_several_threads)
{
    struct config c = config_make(2, 2, 6, 9, 7);
    c.dropout = 0.2;
    for (int threads = 2; threads <= 3; threads++) {
        struct tiny t;
        tiny_make(&t, &c, 2, 2, 9, threads);
        struct gradcheck_step step = step_of(&t, &DROPPING);
        const struct gradcheck_learner learner = gradcheck_of_step(&step);
        cr_expect_leq(run_error(&t, &learner, 2), GRADCHECK_TOLERANCE);
        tiny_free(&t);
    }
}

#ifdef NOPEEK_DOUBLE
static double slightly_off; /* of the largest gradient of the tensor */
static void one_number_off(struct tiny *t, real *grads)
{
    const struct params_tensor *p = params_find(&t->model.table, PARAMS_FC, 1);
    double most = 0;
    for (size_t i = 0; i < p->rows * p->cols; i++)
        most = fmax(most, fabs(grads[p->offset + i]));
    grads[p->offset + 17] += slightly_off * most;
}

Test(gradcheck, one_number_a_little_off_is_found_at_its_place)
{
    struct error err;
    struct config c = config_make(2, 2, 6, 9, 7);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 9, 1);
    struct gradcheck_step step = step_of(&t, &gpt_evaluating);
    struct faulty f = {&step, &t, one_number_off, gradcheck_of_step(&step)};
    const struct gradcheck_learner learner = {&f, faulty_loss, faulty_gradient};
    static const double OFF[] = {1e-2, 1e-4, 2e-6};
    for (size_t i = 0; i < sizeof OFF / sizeof *OFF; i++) {
        slightly_off = OFF[i];
        struct gradcheck g;
        cr_assert_eq(gradcheck_run(&g, t.model.params, &t.model.table, &learner, 0, 1, &err), STATUS_OK);
        const struct gradcheck_result *worst = gradcheck_worst(&g);
        cr_expect_str_eq(worst->name, "transformer.h.1.mlp.c_fc.weight");
        cr_expect_eq(worst->worst, 17);
        cr_expect_gt(worst->error, GRADCHECK_TOLERANCE);
        cr_expect_float_eq(worst->error, OFF[i], 0.02 * OFF[i]);
        gradcheck_free(&g);
    }
    tiny_free(&t);
}
#endif

Test(gradcheck, a_sample_measures_as_many_as_asked_in_every_tensor_and_view)
{
    struct error err;
    struct config c = config_make(2, 2, 6, 9, 7);
    struct tiny t;
    tiny_make(&t, &c, 1, 2, 9, 1);
    struct gradcheck_step step = step_of(&t, &gpt_evaluating);
    const struct gradcheck_learner learner = gradcheck_of_step(&step);
    struct gradcheck g, again;
    cr_assert_eq(gradcheck_run(&g, t.model.params, &t.model.table, &learner, 5, 1, &err), STATUS_OK);
    cr_assert_eq(gradcheck_run(&again, t.model.params, &t.model.table, &learner, 5, 1, &err), STATUS_OK);
    for (size_t i = 0; i < g.count; i++) {
        const struct params_tensor *p = &t.model.table.tensor[g.result[i].tensor];
        const bool parted = p->kind == PARAMS_QKV || p->kind == PARAMS_QKV_BIAS;
        cr_expect_eq(g.result[i].checked, parted && !g.result[i].view ? 15 : 5, "%s: %zu", g.result[i].name,
                     g.result[i].checked);
        cr_expect_leq(g.result[i].error, GRADCHECK_TOLERANCE, "%s", g.result[i].name);
        cr_expect_eq(g.result[i].worst, again.result[i].worst, "the same seed measures the same numbers");
    }
    gradcheck_free(&again);
    gradcheck_free(&g);
    tiny_free(&t);
}

Test(gradcheck, a_loss_that_is_not_finite_is_refused)
{
    struct error err;
    struct config c = config_make(1, 1, 4, 4, 5);
    struct tiny t;
    tiny_make(&t, &c, 1, 1, 4, 1);
    tiny_tensor(&t, t.model.params, PARAMS_PROJ, 0)[3] = (real)NAN;
    struct gradcheck_step step = step_of(&t, &gpt_evaluating);
    const struct gradcheck_learner learner = gradcheck_of_step(&step);
    struct gradcheck g;
    cr_expect_eq(gradcheck_run(&g, t.model.params, &t.model.table, &learner, 0, 1, &err), STATUS_NONFINITE);
    cr_expect_null(g.result);
    cr_expect(strstr(err.message, "loss"));
    tiny_free(&t);
}
