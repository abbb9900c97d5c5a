#include "cli/bench_view.h"

#include <string.h>

#include "base/machine.h"
#include "base/team.h"
#include "cli/compute.h"
#include "cli/human.h"
#include "kernels/gemm.h"
#include "kernels/gemm_bf16.h"

void bench_view_machine(FILE *out, struct team team)
{
    char name[MACHINE_NAME_SIZE], library[COMPUTE_LIBRARY_SIZE];
    fprintf(out, "machine     %.50s, %d of %d core%s\n", machine_name(name), team.threads, team_cores(),
            team_cores() == 1 ? "" : "s");
    fprintf(out, "products    %s, one thread to each of ours\n", compute_library(library));
    fprintf(out, "kernels     %s; products in bf16: %s\n", isa_name(team.isa), gemm_bf16_kernel(team.isa));
}

/* Three digits, or all of them before the point. */
static int decimals(double ms)
{
    return ms < 10 ? 2 : ms < 100 ? 1 : 0;
}

static double share(double part, double of)
{
    return of > 0 ? part / of : 0;
}

/* Milliseconds in eight columns; blank for an operation that has no such pass. */
static void print_ms(FILE *out, double seconds)
{
    if (seconds > 0)
        fprintf(out, " %8.*f", seconds < 0.01 ? 3 : seconds < 0.1 ? 2 : 1, seconds * 1e3);
    else
        fprintf(out, " %8s", "");
}

static void print_operations(FILE *out, const struct bench *b, const struct bench_options *o)
{
    const double total = laps_total(&b->laps);
    fprintf(out, "\n%-18s %8s %8s %8s %8s %5s %8s\n", "ms a step", "forward", "to input", "weights", "all", "%",
            "GFLOP/s");
    for (int k = 0; k < LAPS_OPERATIONS; k++) {
        const enum laps_operation operation = (enum laps_operation)k;
        const double all = laps_of(&b->laps, operation);
        double flops = 0;
        fprintf(out, "%-18s", laps_name(operation));
        for (int p = 0; p < LAPS_PASSES; p++) {
            const bool parts = operation < LAPS_NORM; /* the rest has no direction */
            print_ms(out, parts ? b->laps.seconds[k][p] : 0);
            flops += bench_flops(&o->config, o->batch_size, operation, (enum laps_pass)p);
        }
        print_ms(out, all);
        fprintf(out, " %5.1f", 100 * share(all, total));
        if (flops > 0)
            fprintf(out, " %8.0f", share(flops, all) * 1e-9);
        fputc('\n', out);
    }
}

/* What it adds is small beside how much one median differs from the next. */
static void print_entropy(FILE *out, double percent)
{
    fputs("entropy     of every head in every step: ", out);
    if (percent >= 0.05)
        fprintf(out, "+%.1f %% of a step\n", percent);
    else
        fprintf(out, "less than chance adds (%.1f %%)\n", percent);
}

static void print_step(FILE *out, const struct bench *b)
{
    char rate[HUMAN_SIZE], taken[HUMAN_SIZE], peak[HUMAN_SIZE];
    const double ms = b->step * 1e3, low = b->step_low * 1e3, high = b->step_high * 1e3, least = b->step_least * 1e3;
    const int d = decimals(ms);
    fprintf(out, "step        %.*f ms (half of %zu took %.*f to %.*f, the fastest %.*f)\n", d, ms, b->steps, d, low, d,
            high, d, least);
    const double flops = b->step_flops / b->step * 1e-9, peak_flops = b->gemm_flops * 1e-9;
    fprintf(out, "rate        %s tokens/s, %.*f GFLOP/s: %.1f %% of this machine's sgemm (%.*f)\n",
            human_rate(rate, (double)b->tokens / b->step), decimals(flops), flops, 100 * share(flops, peak_flops),
            decimals(peak_flops), peak_flops);
    if (b->bf16_flops > 0)
        fprintf(out, "bf16        %.1f %% of its bf16 kernel (%.0f GFLOP/s, %.2f times its sgemm)\n",
                100 * share(b->step_flops / b->step, b->bf16_flops), b->bf16_flops * 1e-9,
                share(b->bf16_flops, b->gemm_flops));
    if (b->one_thread > 0)
        fprintf(out, "threads     %d: %.2f times as fast as one (%.*f ms)\n", b->threads, b->one_thread / b->step,
                decimals(b->one_thread * 1e3), b->one_thread * 1e3);
    else
        fprintf(out, "threads     %d\n", b->threads);
    if (b->quiet > 0)
        print_entropy(out, 100 * (b->step + b->summary - b->quiet) / b->step);
    fprintf(out, "memory      %s taken", human_bytes(taken, b->arena_bytes));
    if (b->peak_bytes > 0)
        fprintf(out, ", %s the most that the process held", human_bytes(peak, b->peak_bytes));
    fputc('\n', out);
}

void bench_view_shape(FILE *out, const char *name, const struct bench *b, const struct bench_options *o)
{
    char parameters[HUMAN_SIZE], tokens[HUMAN_SIZE], within[HUMAN_SIZE], past[HUMAN_SIZE];
    const struct config *c = &o->config;
    fprintf(out, "\n%s: %zu layers, %zu heads, %zu channels, context %zu, batch %zu%s\n", name, c->n_layer, c->n_head,
            c->n_embd, c->block_size, o->batch_size, c->dropout > 0 ? ", dropout" : "");
    fprintf(out, "model       %s parameters, %zu symbols", human_rate(parameters, (double)b->parameters),
            c->vocab_size);
    if (o->steps)
        fprintf(out, "; a step is %s tokens, %.3g GFLOP", human_count(tokens, b->tokens), b->step_flops * 1e-9);
    fputc('\n', out);
    if (o->steps)
        print_step(out, b);
    if (o->generation)
        fprintf(out, "generation  %s symbols/s within the context, %s past it (one thread)\n",
                human_rate(within, b->within), human_rate(past, b->past));
    if (o->steps && o->details)
        print_operations(out, b, o);
}

void bench_view_attention(FILE *out, const struct bench_attention results[BENCH_ATTENTION_KERNELS],
                          const struct bench_attention_options *o)
{
    fprintf(out, "\nattention alone: T = %zu, %zu x %zu heads of %zu, causal, %.3g GFLOP\n", o->T, o->B, o->H, o->hs,
            bench_attention_flops(o) * 1e-9);
    fprintf(out, "%-12s %10s %10s %10s %8s %10s\n", "ms", "forward", "backward", "both", "GFLOP/s", "memory");
    for (size_t k = 0; k < BENCH_ATTENTION_KERNELS; k++) {
        const struct bench_attention *r = &results[k];
        char bytes[HUMAN_SIZE];
        fprintf(out, "%-12s %10.2f %10.2f %10.2f %8.0f %10s\n", r->name, r->forward * 1e3, r->backward * 1e3,
                (r->forward + r->backward) * 1e3, bench_attention_flops(o) / (r->forward + r->backward) * 1e-9,
                human_bytes(bytes, r->bytes));
    }
}

/* Sets a number, or null where nothing was measured. */
static void put(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, value > 0 ? json_real(value) : json_null());
}

static json_t *kernels(enum isa isa)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "isa", isa_name(isa), "attention", "tiled", "gemm", gemm_library(),
                     "gemm_bf16", gemm_bf16_kernel(isa));
}

static json_t *operations(const struct bench *b, const struct bench_options *o)
{
    static const char *const passes[] = {"forward_ms", "input_ms", "weights_ms"};
    json_t *all = json_object();
    for (int k = 0; k < LAPS_OPERATIONS; k++) {
        json_t *one = json_object();
        double flops = 0;
        for (int p = 0; p < LAPS_PASSES; p++) {
            if (k < LAPS_NORM && b->laps.seconds[k][p] > 0)
                put(one, passes[p], b->laps.seconds[k][p] * 1e3);
            flops += bench_flops(&o->config, o->batch_size, (enum laps_operation)k, (enum laps_pass)p);
        }
        const double seconds = laps_of(&b->laps, (enum laps_operation)k);
        put(one, "ms", seconds * 1e3);
        if (flops > 0)
            put(one, "flops_per_s", share(flops, seconds));
        json_object_set_new(all, laps_name((enum laps_operation)k), one);
    }
    return all;
}

json_t *bench_view_shape_json(const char *name, const struct bench *b, const struct bench_options *o)
{
    const struct config *c = &o->config;
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:i, s:o}", "shape", name, "precision",
                  compute_precisions[c->precision], "n_layer", (json_int_t)c->n_layer, "n_head", (json_int_t)c->n_head,
                  "n_embd", (json_int_t)c->n_embd, "block_size", (json_int_t)c->block_size, "batch_size",
                  (json_int_t)o->batch_size, "vocab_size", (json_int_t)c->vocab_size, "dropout", c->dropout,
                  "parameters", (json_int_t)b->parameters, "threads", b->threads, "kernels", kernels(o->team.isa));
    if (!object)
        return NULL;
    if (o->steps) {
        const double flops = b->step_flops / b->step;
        put(object, "step_ms", b->step * 1e3);
        put(object, "step_least_ms", b->step_least * 1e3);
        put(object, "step_low_ms", b->step_low * 1e3);
        put(object, "step_high_ms", b->step_high * 1e3);
        put(object, "tokens_per_s", (double)b->tokens / b->step);
        put(object, "flops_per_s", flops);
        put(object, "gemm_flops_per_s", b->gemm_flops);
        put(object, "share_of_gemm", flops / b->gemm_flops);
        if (b->bf16_flops > 0) {
            put(object, "bf16_flops_per_s", b->bf16_flops);
            put(object, "share_of_bf16", flops / b->bf16_flops);
        }
        json_object_set_new(object, "arena_bytes", json_integer((json_int_t)b->arena_bytes));
        json_object_set_new(object, "peak_bytes",
                            json_integer((json_int_t)(b->peak_bytes ? b->peak_bytes : b->arena_bytes)));
    }
    if (o->steps && o->details) {
        put(object, "one_thread_ms", b->one_thread * 1e3);
        put(object, "quiet_ms", b->quiet * 1e3);
        put(object, "entropy_summary_ms", b->summary * 1e3);
        json_object_set_new(object, "operations", operations(b, o));
    }
    if (o->generation) {
        put(object, "generation_per_s", b->within);
        put(object, "generation_past_context_per_s", b->past);
    }
    return object;
}

json_t *bench_view_attention_json(const struct bench_attention results[BENCH_ATTENTION_KERNELS],
                                  const struct bench_attention_options *o)
{
    json_t *object = json_pack("{s:I, s:I, s:I, s:I, s:i}", "T", (json_int_t)o->T, "batch_size", (json_int_t)o->B,
                               "heads", (json_int_t)o->H, "head_size", (json_int_t)o->hs, "threads", o->team.threads);
    for (size_t k = 0; object && k < BENCH_ATTENTION_KERNELS; k++) {
        const struct bench_attention *r = &results[k];
        const double both = r->forward + r->backward;
        json_object_set_new(object, r->name,
                            json_pack("{s:f, s:f, s:f, s:f, s:I}", "forward_ms", r->forward * 1e3, "backward_ms",
                                      r->backward * 1e3, "ms", both * 1e3, "flops_per_s",
                                      bench_attention_flops(o) / both, "bytes", (json_int_t)r->bytes));
    }
    return object;
}
