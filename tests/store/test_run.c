#include "store/run.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/commit.h"
#include "support/scratch.h"

#define NONE ((size_t)-1)

TestSuite(run, .init = scratch_make, .fini = scratch_remove);

/* A folder with these files, each of one byte. */
static void make_folder(const char *name, const char *first, const char *second)
{
    cr_assert_eq(mkdir(scratch_path("%s", name), 0777), 0);
    if (first)
        scratch_write(scratch_path("%s/%s", name, first), "x", 1);
    if (second)
        scratch_write(scratch_path("%s/%s", name, second), "x", 1);
}

static void make_step(const char *name)
{
    make_folder(name, "trainer_state.json", "model.safetensors");
    scratch_write(scratch_path("%s/config.json", name), "{}", 2);
}

static void expect_failure(enum status found, enum status expected, const struct error *err, const char *part)
{
    cr_assert_eq(found, expected, "status %d", (int)found);
    cr_assert_not_null(strstr(err->message, part), "'%s' lacks '%s'", err->message, part);
    cr_assert_null(strchr(err->message, '\n'));
}

static void expect_found(const char *run, const char *expected)
{
    struct error err;
    char *folder;
    cr_assert_eq(run_find(&folder, run, &err), STATUS_OK, "%s", err.message);
    cr_assert_str_eq(folder, expected);
    free(folder);
}

static void expect_target(const char *link, const char *expected)
{
    char target[64] = {0};
    cr_assert_geq(readlink(scratch_path("%s", link), target, sizeof target - 1), 0, "%s", link);
    cr_assert_str_eq(target, expected);
}

Test(run, step_names_have_six_digits_or_more)
{
    char name[RUN_STEP_NAME_SIZE];
    run_step_name(name, 0);
    cr_assert_str_eq(name, "step-000000");
    run_step_name(name, 12345678);
    cr_assert_str_eq(name, "step-12345678");
    run_step_name(name, SIZE_MAX);
    cr_assert_eq(strlen(name), 5 + 20);
}

Test(run, highest_complete_step_wins_and_numbers_are_numbers)
{
    struct error err;
    char *folder;
    const char *run = scratch_folder();
    expect_failure(run_find(&folder, run, &err), STATUS_FORMAT, &err, "neither a checkpoint");
    cr_assert_null(folder);
    make_step("step-000500");
    expect_found(run, scratch_path("step-000500"));
    make_step("step-999999");
    make_step("step-1000000");
    expect_found(run, scratch_path("step-1000000"));
    expect_found(scratch_path("step-000500"), scratch_path("step-000500"));
}

Test(run, what_only_looks_like_a_complete_step_is_ignored)
{
    struct error err;
    char *folder;
    const char *run = scratch_folder();
    make_folder("step-000900", "trainer_state.json", NULL);
    make_folder("step-000901", NULL, "model.safetensors");
    make_folder("step-000902", NULL, NULL);
    scratch_write(scratch_path("step-000903"), "a file", 6);
    cr_assert_eq(symlink("nowhere", scratch_path("step-000904")), 0);
    expect_failure(run_find(&folder, run, &err), STATUS_FORMAT, &err, "neither a checkpoint");
    scratch_write(scratch_path("metrics.jsonl"), "", 0);
    expect_failure(run_find(&folder, run, &err), STATUS_FORMAT, &err, "without a checkpoint yet");
    make_step("step-000010");
    const char *const names[] = {"step-abc",
                                 "step-",
                                 "step-000011.old",
                                 "step-00012",
                                 "step-0000013",
                                 "step-000014 ",
                                 "step-+00015",
                                 "Step-000016",
                                 "step-000017x",
                                 "step- 00018",
                                 "xstep-000019",
                                 "step--000020",
                                 ".step-000021.tmp-1",
                                 "step-99999999999999999999",
                                 "step-18446744073709551615"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        make_step(names[i]);
    cr_assert_eq(symlink("step-000010", scratch_path("step-000800")), 0);
    cr_assert_eq(symlink("step-000902", scratch_path("latest")), 0);
    expect_found(run, scratch_path("step-000010"));
}

Test(run, latest_by_its_own_path_is_the_step_it_points_to)
{
    char *dir;
    make_step("step-000010");
    make_step("step-000020");
    cr_assert_eq(symlink("step-000010", scratch_path("latest")), 0);
    cr_assert_eq(symlink(scratch_path("step-000010"), scratch_path("elsewhere")), 0);
    expect_found(scratch_path("latest"), scratch_path("step-000010"));
    expect_found(scratch_path("latest/"), scratch_path("step-000010"));
    expect_found(scratch_path("elsewhere"), scratch_path("elsewhere"));
    cr_assert_eq(chdir(scratch_path("step-000010")), 0);
    expect_found(".", ".");
    cr_assert_eq(chdir(scratch_folder()), 0);
    expect_found(".", "./step-000020");
    expect_found("latest", "./step-000010");
    struct error err;
    cr_assert_eq(run_of_checkpoint(&dir, "step-000010", &err), STATUS_OK);
    cr_assert_str_eq(dir, ".");
    free(dir);
    cr_assert_eq(chdir("/"), 0);
}

Test(run, a_link_that_leads_to_no_complete_step_of_the_run_is_refused_and_the_run_still_found)
{
    struct error err;
    char *folder;
    make_folder("run", NULL, NULL);
    make_folder("other", NULL, NULL);
    make_folder("run/step-000030", NULL, "model.safetensors"); /* half a checkpoint */
    make_step("run/step-000010");
    make_step("other/step-000010");
    make_step("other/step-000020");
    const char *const targets[] = {"step-000020",
                                   "nowhere",
                                   "../other/step-000020",
                                   "../other/step-000010",
                                   "./step-000010",
                                   "best",
                                   "latest",
                                   "/",
                                   "../run/step-000010",
                                   ".",
                                   "step-000030",
                                   "metrics.jsonl",
                                   "step-000010/",
                                   "step-10",
                                   "../other",
                                   "/dev/zero",
                                   scratch_path("run/step-000010")};
    const char *const links[] = {"run/latest", "run/best"};
    for (size_t i = 0; i < 2 * sizeof targets / sizeof targets[0]; i++) {
        const char *link = scratch_path("%s", links[i % 2]);
        cr_assert_eq(symlink(targets[i / 2], link), 0);
        expect_failure(run_find(&folder, link, &err), STATUS_FORMAT, &err, "leads to no complete step of its run");
        cr_assert_null(folder);
        expect_found(scratch_path("run"), scratch_path("run/step-000010"));
        cr_assert_eq(unlink(link), 0);
    }
    /* A link of that name elsewhere is a person's own. */
    cr_assert_eq(symlink("run/step-000010", scratch_path("latest")), 0);
    expect_found(scratch_path("latest"), scratch_path("latest"));
}

Test(run, linked_run_directory_is_a_run)
{
    make_folder("real run", NULL, NULL);
    make_step("real run/step-000001");
    cr_assert_eq(symlink("real run", scratch_path("link")), 0);
    expect_found(scratch_path("link"), scratch_path("link/step-000001"));
}

Test(run, what_is_no_run_is_named)
{
    struct error err;
    char *folder;
    scratch_write(scratch_path("file"), "x", 1);
    expect_failure(run_find(&folder, scratch_path("missing"), &err), STATUS_OPEN, &err, "missing");
    expect_failure(run_find(&folder, scratch_path("file"), &err), STATUS_OPEN, &err, "is a file");
}

Test(run, links_follow_and_best_stays_when_it_is_not_given)
{
    struct error err;
    make_step("step-000250");
    cr_assert_eq(run_link(scratch_folder(), 500, 250, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(run_link(scratch_folder(), 1000000, NONE, &err), STATUS_OK, "%s", err.message);
    expect_target("latest", "step-1000000");
    expect_target("best", "step-000250");
    cr_assert_eq(scratch_count(scratch_folder()), 3);
}

Test(run, what_is_called_like_a_link_and_is_none_is_moved_aside_and_kept)
{
    struct error err;
    const char *dir = scratch_folder();
    make_step("step-000100");
    make_step("latest"); /* as a copy that follows links makes it */
    scratch_write(scratch_path("best"), "somebody's", 10);
    cr_assert_eq(run_link(dir, 100, 100, &err), STATUS_OK, "%s", err.message);
    expect_target("latest", "step-000100");
    expect_target("best", "step-000100");
    cr_assert(scratch_exists(scratch_path("latest.old/model.safetensors")));
    char *kept = scratch_read(scratch_path("best.old"), NULL);
    cr_assert_str_eq(kept, "somebody's");
    free(kept);
    cr_assert_eq(run_link(dir, 100, 100, &err), STATUS_OK);
    cr_assert_eq(scratch_count(dir), 5, "links that are links are replaced in place");
}

Test(run, rewind_mends_links_of_every_wrong_kind)
{
    struct error err;
    size_t moved;
    const char *dir = scratch_folder();
    const char *const targets[] = {"nowhere", "/", "best", "latest", "../elsewhere/step-000100", "step-000050", "."};
    make_step("step-000100");
    make_folder("step-000050", "trainer_state.json", NULL);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        cr_assert_eq(symlink(targets[i], scratch_path("latest")), 0);
        cr_assert_eq(symlink(targets[i], scratch_path("best")), 0);
        const size_t best = i % 2 ? 100 : NONE;
        cr_assert_eq(run_rewind(dir, 100, best, &moved, &err), STATUS_OK, "%s: %s", targets[i], err.message);
        cr_assert_eq(moved, 0);
        expect_target("latest", "step-000100");
        cr_assert_eq(scratch_exists(scratch_path("best")), best != NONE, "%s", targets[i]);
        if (best != NONE) {
            expect_target("best", "step-000100");
            cr_assert_eq(unlink(scratch_path("best")), 0);
        }
        cr_assert_eq(unlink(scratch_path("latest")), 0);
    }
}

Test(run, what_a_killed_process_left_is_gone_when_training_goes_on_or_begins)
{
    struct error err;
    size_t moved;
    const char *dir = scratch_folder();
    make_step("step-000100");
    for (int again = 0; again < 2; again++) {
        /* A write test that was killed before its link was removed, and saves: no process has such numbers. */
        cr_assert_eq(symlink("nowhere", scratch_path(".nopeek-write-test")), 0);
        make_step(".step-000200.tmp-99999999999");
        cr_assert_eq(symlink("step-000200", scratch_path(".latest.tmp-99999999999")), 0);
        cr_assert_eq(symlink("step-000200", scratch_path(".best.tmp-99999999999")), 0);
        scratch_write(scratch_path(".metrics.jsonl.tmp-99999999999"), "x", 1);
        cr_assert_eq(run_rewind(dir, 100, NONE, &moved, &err), STATUS_OK, "%s", err.message);
        cr_assert_eq(scratch_count(dir), 2, "step-000100 and latest");
    }
    cr_assert_eq(symlink("nowhere", scratch_path(".nopeek-write-test")), 0);
    cr_assert_eq(run_create(dir, true, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(scratch_count(dir), 1, "old-1 alone; nothing was written through the link");
}

Test(run, room_on_a_disk_is_more_than_nothing_and_less_than_all_of_it)
{
    uintmax_t room = 0;
    struct statvfs disk;
    cr_assert(run_room(&room, scratch_folder()));
    cr_assert_eq(statvfs(scratch_folder(), &disk), 0);
    cr_assert(room > 0 && room <= (uintmax_t)disk.f_blocks * disk.f_frsize, "%ju", room);
    cr_assert_not(run_room(&room, scratch_path("absent")));
}

Test(run, the_step_before_one_is_the_highest_complete_one_below_it)
{
    make_step("step-000100");
    make_step("step-000200");
    make_folder("step-000250", NULL, "model.safetensors");
    make_step("step-000300");
    const char *const cases[][2] = {
        {"step-000300", "step-000200"}, {"step-000300/", "step-000200"}, {"step-000999", "step-000300"},
        {"step-000200", "step-000100"}, {"step-000100", NULL},           {"latest", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *before = run_step_before(scratch_path("%s", cases[i][0]));
        if (cases[i][1])
            cr_assert_str_eq(before, scratch_path("%s", cases[i][1]));
        else
            cr_assert_null(before);
        free(before);
    }
}

Test(run, best_is_never_pointed_at_a_step_that_is_gone)
{
    struct error err;
    make_step("step-000500");
    cr_assert_eq(run_link(scratch_folder(), 500, 250, &err), STATUS_OK, "%s", err.message);
    expect_target("latest", "step-000500");
    cr_assert(!scratch_exists(scratch_path("best")));
}

Test(run, create_makes_parents_and_leaves_nothing_behind)
{
    struct error err;
    cr_assert_eq(run_create(scratch_path("a b/c//run/"), false, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(scratch_count(scratch_path("a b/c/run")), 0);
    cr_assert_eq(run_create(scratch_path("a b/c/run"), false, &err), STATUS_OK, "an empty one is free to use");
}

Test(run, create_refuses_what_holds_a_run_and_says_what_to_do)
{
    struct error err;
    make_folder("run", NULL, NULL);
    make_step("run/step-000010");
    expect_failure(run_create(scratch_path("run"), false, &err), STATUS_USAGE, &err, "--resume");
    cr_assert_not_null(strstr(err.message, "--force"));
    cr_assert_not_null(strstr(err.message, "-o"));
    make_folder("half", NULL, NULL);
    make_folder("half/step-000010", NULL, NULL);
    expect_failure(run_create(scratch_path("half"), false, &err), STATUS_USAGE, &err, "--force");
    make_folder("logged", "metrics.jsonl", NULL);
    expect_failure(run_create(scratch_path("logged"), false, &err), STATUS_USAGE, &err, "--force");
    make_step("checkpoint");
    expect_failure(run_create(scratch_path("checkpoint"), true, &err), STATUS_USAGE, &err, "config.json");
    scratch_write(scratch_path("file"), "x", 1);
    expect_failure(run_create(scratch_path("file"), true, &err), STATUS_WRITE, &err, "no folder");
    expect_failure(run_create(scratch_path("file/run"), true, &err), STATUS_WRITE, &err, "file");
    expect_failure(run_create("", true, &err), STATUS_USAGE, &err, "empty");
    if (geteuid() != 0) {
        make_folder("closed", NULL, NULL);
        cr_assert_eq(chmod(scratch_path("closed"), 0555), 0);
        expect_failure(run_create(scratch_path("closed"), false, &err), STATUS_WRITE, &err, "denied");
    }
}

Test(run, what_create_would_refuse_is_known_beforehand_and_nothing_is_written_for_it)
{
    struct error err;
    make_folder("run", NULL, NULL);
    make_step("run/step-000010");
    make_step("checkpoint");
    make_folder("empty", NULL, NULL);
    expect_failure(run_may_create(scratch_path("run"), false, &err), STATUS_USAGE, &err, "--force");
    expect_failure(run_may_create(scratch_path("checkpoint"), true, &err), STATUS_USAGE, &err, "config.json");
    cr_assert_eq(run_may_create(scratch_path("run"), true, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(run_may_create(scratch_path("empty"), false, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(run_may_create(scratch_path("none/yet"), false, &err), STATUS_OK, "%s", err.message);
    cr_assert(!scratch_exists(scratch_path("none")));
    cr_assert_eq(scratch_count(scratch_path("empty")), 0);
    cr_assert_eq(scratch_count(scratch_path("run")), 1, "force moves nothing yet");
}

Test(run, force_moves_a_runs_own_names_aside_and_nothing_else)
{
    struct error err;
    const char *dir = scratch_folder();
    const char *const others[] = {"notes.txt", "text.txt", "step-abc", "old-notes"};
    for (size_t i = 0; i < 4; i++)
        scratch_write(scratch_path("%s", others[i]), "mine", 4);
    make_folder("best.d", NULL, NULL);
    cr_assert_eq(run_create(dir, true, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(scratch_count(dir), 5, "no run yet, nothing to move");

    make_step("step-000010");
    make_step("step-000020");
    make_step("step-000010.old");
    make_step("step-000010.old-2");
    scratch_write(scratch_path("metrics.jsonl"), "{}\n", 3);
    scratch_write(scratch_path("report.html"), "x", 1);
    cr_assert_eq(run_link(dir, 20, 10, &err), STATUS_OK);
    cr_assert_eq(run_create(dir, true, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(scratch_count(dir), 6);
    cr_assert_eq(scratch_count(scratch_path("old-1")), 8);
    expect_found(scratch_path("old-1"), scratch_path("old-1/step-000020"));
    expect_found(scratch_path("old-1/best"), scratch_path("old-1/step-000010"));
    char *text = scratch_read(scratch_path("notes.txt"), NULL);
    cr_assert_str_eq(text, "mine");
    free(text);

    make_step("step-000030");
    cr_assert_eq(run_create(dir, true, &err), STATUS_OK, "%s", err.message);
    cr_assert(scratch_exists(scratch_path("old-2/step-000030")));
}

Test(run, prune_keeps_the_newest_and_never_latest_or_best)
{
    struct error err;
    const char *dir = scratch_folder();
    const char *const names[] = {"step-000010", "step-000020", "step-000030", "step-000040", "step-1000000"};
    for (size_t i = 0; i < 5; i++)
        make_step(names[i]);
    make_folder("step-000005", NULL, NULL);
    make_step("step-000001.old");
    cr_assert_eq(run_prune(dir, 0, 1000000, NONE, &err), STATUS_OK);
    cr_assert_eq(run_prune(dir, 5, 1000000, NONE, &err), STATUS_OK);
    cr_assert_eq(scratch_count(dir), 7, "nothing to remove");
    cr_assert_eq(run_prune(dir, 3, 1000000, 10, &err), STATUS_OK, "%s", err.message);
    cr_assert(scratch_exists(scratch_path("step-000010")), "best");
    cr_assert_not(scratch_exists(scratch_path("step-000020")));
    cr_assert_not(scratch_exists(scratch_path("step-000030")));
    cr_assert(scratch_exists(scratch_path("step-000040")));
    cr_assert_eq(run_prune(dir, 1, 40, 10, &err), STATUS_OK);
    cr_assert(scratch_exists(scratch_path("step-000010")), "best");
    cr_assert(scratch_exists(scratch_path("step-000040")), "latest");
    cr_assert_not(scratch_exists(scratch_path("step-1000000")));
    cr_assert_eq(scratch_count(dir), 4, "incomplete and moved-aside steps are not pruned");
}

Test(run, prune_leaves_a_step_that_holds_a_folder_of_someones)
{
    struct error err;
    make_step("step-000010");
    make_step("step-000020");
    make_folder("step-000010/mine", NULL, NULL);
    expect_failure(run_prune(scratch_folder(), 1, 20, 20, &err), STATUS_WRITE, &err, "step-000010/mine");
    expect_found(scratch_path("step-000010"), scratch_path("step-000010"));
}

Test(run, rewind_moves_later_steps_aside_and_mends_the_links)
{
    struct error err;
    size_t moved;
    const char *dir = scratch_folder();
    make_step("step-000100");
    make_step("step-000200");
    make_step("step-1000000");
    make_folder("step-000300", NULL, NULL);
    cr_assert_eq(run_link(dir, 1000000, 200, &err), STATUS_OK);
    cr_assert_eq(run_rewind(dir, 1000000, 200, &moved, &err), STATUS_OK);
    cr_assert_eq(moved, 0);
    cr_assert_eq(run_rewind(dir, 200, 200, &moved, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(moved, 2);
    expect_target("best", "step-000200");
    cr_assert_eq(run_rewind(dir, 100, NONE, &moved, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(moved, 1);
    expect_target("latest", "step-000100");
    cr_assert_not(scratch_exists(scratch_path("best")));
    expect_found(dir, scratch_path("step-000100"));
    cr_assert(scratch_exists(scratch_path("step-000200.old/model.safetensors")));
    cr_assert(scratch_exists(scratch_path("step-1000000.old/model.safetensors")));
    make_step("step-000200");
    cr_assert_eq(run_rewind(dir, 100, NONE, &moved, &err), STATUS_OK);
    cr_assert(scratch_exists(scratch_path("step-000200.old-2/model.safetensors")));
    expect_failure(run_rewind(scratch_path("missing"), 1, NONE, &moved, &err), STATUS_WRITE, &err, "missing");
}

Test(run, rewind_makes_the_links_that_a_save_was_killed_before)
{
    struct error err;
    size_t moved;
    const char *dir = scratch_folder();
    make_step("step-000100");
    make_step("step-000200");
    cr_assert_eq(run_link(dir, 100, 100, &err), STATUS_OK);
    cr_assert_eq(run_rewind(dir, 200, 200, &moved, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(moved, 0);
    expect_target("latest", "step-000200");
    expect_target("best", "step-000200");
    cr_assert_eq(run_rewind(dir, 200, 150, &moved, &err), STATUS_OK, "%s", err.message);
    expect_target("best", "step-000200"); /* 150 is gone: no reason to let go of one that is there */
}

Test(run, checkpoint_knows_its_run)
{
    const char *const cases[][2] = {{"run/step-000500", "run"},
                                    {"/run/step-000500/", "/run"},
                                    {"/step-000500", "/"},
                                    {"a b//step-000001", "a b"},
                                    {"run/step-500", NULL},
                                    {"run/latest", NULL},
                                    {"", NULL},
                                    {"/", NULL},
                                    {"run/step-000500.old", NULL},
                                    {"step-000000", "."}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error err;
        char *run;
        cr_assert_eq(run_of_checkpoint(&run, cases[i][0], &err), STATUS_OK);
        if (cases[i][1])
            cr_assert_str_eq(run, cases[i][1]);
        else
            cr_assert_null(run, "%s", cases[i][0]);
        free(run);
    }
}

Test(run, a_folder_that_took_the_place_of_the_one_that_is_held_is_noticed)
{
    struct error err;
    struct run_hold h = {0};
    const char *dir = scratch_path("held"), *moved = scratch_path("moved");
    cr_assert_eq(mkdir(dir, 0777), 0);
    cr_assert_eq(run_hold_take(&h, dir, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(run_hold_check(&h, dir, &err), STATUS_OK, "%s", err.message);
    cr_assert_eq(rename(dir, moved), 0);
    cr_assert_eq(run_hold_check(&h, dir, &err), STATUS_WRITE);
    cr_assert_eq(mkdir(dir, 0777), 0); /* another run's, for all we know */
    cr_assert_eq(run_hold_check(&h, dir, &err), STATUS_WRITE);
    cr_assert(strstr(err.message, "moved, deleted or replaced"), "%s", err.message);
    cr_assert(rmdir(dir) == 0 && rename(moved, dir) == 0);
    cr_assert_eq(run_hold_check(&h, dir, &err), STATUS_OK, "it is back");
    run_hold_release(&h);
    run_hold_release(&h);
    cr_assert_eq(run_hold_take(&h, scratch_path("nowhere"), &err), STATUS_OPEN);
    run_hold_release(&h);
}
