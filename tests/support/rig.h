/* A trainer with all that it needs, for tests: a text of a few hundred characters, a small model with dropout and
 * biases, a run directory in the test's scratch folder, and callbacks that write down what they are told. */
#ifndef SUPPORT_RIG_H
#define SUPPORT_RIG_H

#include "train/trainer.h"

#define RIG_STEPS 1064

struct rig {
    struct dataset data;
    struct tokenizer tokenizer;
    struct gpt model;
    struct state state;
    struct trainer trainer;
    char dir[64];                   /* name within the scratch folder */
    struct checkpoint_moments read; /* of a run that is resumed */

    size_t steps, evals, saves, notes; /* events so far */
    double lr[RIG_STEPS], loss[RIG_STEPS], val_loss[RIG_STEPS];
    size_t eval_step[RIG_STEPS];
    char note[512]; /* the last */

    size_t interrupt_at; /* asks to stop after this step; 0: never */
    /* Called after each update, before anything is saved. May be NULL. */
    void (*after_step)(struct rig *rig, size_t step);
};

/* Settings of a run of 12 steps: 3 micro-batches of 4, warm-up 5, no evaluation before the end. */
struct trainer_settings rig_settings(void);

/* A new run in DIR of the scratch folder, not yet created on disk: rig_train does that. The trainer's settings may
 * still be changed, and so may the model. Stops the test on failure. */
void rig_make(struct rig *rig, const char *dir);

/* The same run, read back from its latest checkpoint. */
void rig_resume(struct rig *rig, const char *dir);

/* trainer_create, trainer_run. err is filled when it fails. */
enum status rig_train(struct rig *rig, struct error *err);
void rig_free(struct rig *rig);

/* The bytes of a file of a checkpoint of DIR: to be freed. */
char *rig_file(const char *dir, size_t step, const char *name, size_t *n);

/* Whether model.safetensors and optimizer.safetensors of `step` are the same bytes in both runs. */
bool rig_same_bits(const char *dir_a, const char *dir_b, size_t step);

/* The lines of metrics.jsonl as an array, without tokens_per_s. */
json_t *rig_metrics(const char *dir);

/* Whether DIR has a complete checkpoint of this step, one that can be read with its optimizer. */
bool rig_has_step(const char *dir, size_t step);

#endif
