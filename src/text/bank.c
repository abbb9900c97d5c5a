#include "text/bank.h"

/* Which bank it is follows from another word: from the one beside it ("the muddy bank"), from one later in the
 * sentence ("to the bank with a rope"), from one long before it, or from the next sentence. Who came, what they
 * carried, whom they met and what the weather was come back later in the story. Everything that is decided shows in the
 * text, and no two alternatives of a choice lead to the same words, so that a text has one derivation only. */

#define FEATURE(n) (UINT64_C(1) << (n))

/* The sense of "bank". */
#define RIVER FEATURE(0)
#define MONEY FEATURE(1)
#define EITHER FEATURE(2)

/* Who goes there, and how they are spoken of. */
#define SHE FEATURE(3)
#define HE FEATURE(4)
#define ANNA FEATURE(5)
#define EVA FEATURE(6)
#define LILY FEATURE(7)
#define RUTH FEATURE(8)
#define BEN FEATURE(9)
#define HUGO FEATURE(10)
#define SAM FEATURE(11)
#define TOM FEATURE(12)
#define WHO (ANNA | EVA | LILY | RUTH | BEN | HUGO | SAM | TOM)

/* What they carry. */
#define NET FEATURE(13)
#define ROPE FEATURE(14)
#define BOAT FEATURE(15)
#define HOOK FEATURE(16)
#define PURSE FEATURE(17)
#define WATCH FEATURE(18)
#define COIN FEATURE(19)
#define LEDGER FEATURE(20)
#define THING (NET | ROPE | BOAT | HOOK | PURSE | WATCH | COIN | LEDGER)

/* What the weather is. */
#define RAIN FEATURE(21)
#define SUN FEATURE(22)
#define WIND FEATURE(23)
#define SNOW FEATURE(24)

/* Whom they meet. */
#define FERRYMAN FEATURE(25)
#define MONK FEATURE(26)
#define TELLER FEATURE(27)
#define GUARD FEATURE(28)
#define OTHER (FERRYMAN | MONK | TELLER | GUARD)

static const uint64_t groups[] = {RIVER | MONEY | EITHER, SHE | HE, WHO, THING, RAIN | SUN | WIND | SNOW, OTHER};

static const struct grammar_row rows[] = {
    {"story", 1, 0, 0, "{opening}\n{scene}{meeting}{deed}{turn}{closing}\n\n"},

    /* How the sense shows: before "bank", after it, long before it, or not yet. */
    {"opening", 1, 0, 0, "{Who} {visit}"},
    {"opening", 1, 0, 0, "In the {weather}, {Who} {visit}"},
    {"visit", 2, 0, RIVER, "{walked} to the {muddy} bank {early}."},
    {"visit", 2, 0, MONEY, "{walked} to the {grand} bank {early}."},
    {"visit", 3, 0, 0, "{walked} to the bank with a {new_thing}."},
    {"visit", 3, 0, 0, "took a {new_thing} to the bank {early}."},
    {"visit", 2, 0, EITHER, "{walked} to the bank {early}."},
    {"weather", 1, 0, RAIN, "rain"},
    {"weather", 1, 0, SUN, "sun"},
    {"weather", 1, 0, WIND, "wind"},
    {"weather", 1, 0, SNOW, "snow"},
    {"Who", 1, 0, SHE | ANNA, "Anna"},
    {"Who", 1, 0, SHE | EVA, "Eva"},
    {"Who", 1, 0, SHE | LILY, "Lily"},
    {"Who", 1, 0, SHE | RUTH, "Ruth"},
    {"Who", 1, 0, HE | BEN, "Ben"},
    {"Who", 1, 0, HE | HUGO, "Hugo"},
    {"Who", 1, 0, HE | SAM, "Sam"},
    {"Who", 1, 0, HE | TOM, "Tom"},
    {"walked", 1, 0, 0, "walked|went|came|ran|rode|drove"},
    {"early", 1, 0, 0, "early|late|alone|again|at noon|at dawn|at dusk|in haste"},
    {"muddy", 1, 0, 0, "muddy|wet|green|steep|low|deep|cold|wild"},
    {"grand", 1, 0, 0, "grand|new|rich|busy|royal|proud|modern|famous"},
    {"new_thing", 1, 0, RIVER, "{muddy} {river_thing}"},
    {"new_thing", 1, 0, MONEY, "{grand} {money_thing}"},
    {"river_thing", 1, 0, NET, "net"},
    {"river_thing", 1, 0, ROPE, "rope"},
    {"river_thing", 1, 0, BOAT, "boat"},
    {"river_thing", 1, 0, HOOK, "hook"},
    {"money_thing", 1, 0, PURSE, "purse"},
    {"money_thing", 1, 0, WATCH, "watch"},
    {"money_thing", 1, 0, COIN, "coin"},
    {"money_thing", 1, 0, LEDGER, "ledger"},

    {"scene", 1, RIVER | MONEY, 0, ""},
    {"scene", 2, RIVER, 0, "{river_scene}\n"},
    {"scene", 2, MONEY, 0, "{money_scene}\n"},
    {"scene", 1, EITHER, RIVER, "{river_scene}\n"},
    {"scene", 1, EITHER, MONEY, "{money_scene}\n"},
    {"river_scene", 1, 0, 0, "The bank was {muddy}, and a {heron} {waited} {by} the {mill}."},
    {"river_scene", 2, 0, 0, "A {muddy} {heron} {waited} {by} the {muddy} {mill}."},
    {"money_scene", 1, 0, 0, "The bank was {grand}, and a {baker} {waited} {by} the {desk}."},
    {"money_scene", 2, 0, 0, "A {grand} {baker} {waited} {by} the {grand} {desk}."},
    {"heron", 1, 0, 0, "heron|duck|swan|frog|fox|goose|toad|pike"},
    {"baker", 1, 0, 0, "baker|judge|nurse|widow|cook|miner|poet|lord"},
    {"waited", 1, 0, 0, "waited|slept|sat|stood|hid|sang|danced|rested"},
    {"by", 1, 0, 0, "by|near|behind|under"},
    {"mill", 1, 0, 0, "mill|ford|pier|oak|dam|bridge|rocks|willow"},
    {"desk", 1, 0, 0, "desk|lamp|gate|clock|till|vault|stairs|window"},

    {"meeting", 2, 0, 0, ""},
    {"meeting", 2, 0, 0, "A {stranger} {waved} to {them} {by} the {place}.\n"},
    {"meeting", 1, RIVER, 0, "\"The bank is {muddy},\" said a {stranger} {by} the {mill}.\n"},
    {"meeting", 1, MONEY, 0, "\"The bank is {grand},\" said a {stranger} {by} the {desk}.\n"},
    {"waved", 1, 0, 0, "waved|nodded|spoke|bowed|called|sang"},
    {"stranger", 1, RIVER, FERRYMAN, "ferryman"},
    {"stranger", 1, RIVER, MONK, "monk"},
    {"stranger", 1, MONEY, TELLER, "teller"},
    {"stranger", 1, MONEY, GUARD, "guard"},
    {"place", 1, RIVER, 0, "{mill}|{muddy} {mill}"},
    {"place", 1, MONEY, 0, "{desk}|{grand} {desk}"},

    {"deed", 4, THING, 0, "{They} {washed} the {thing} {by} the {place}{help}.\n"},
    {"deed", 1, 0, 0, "{They} {waited} {by} the {place}{help}.\n"},
    {"washed", 1, RIVER, 0, "washed|mended|dried|hid|lost|found"},
    {"washed", 1, MONEY, 0, "sold|showed|signed|hid|lost|found"},
    {"help", 2, 0, 0, ""},
    {"help", 1, OTHER, 0, ", and the {other} {waited}"},

    {"turn", 1, 0, 0, ""},
    {"turn", 2, RIVER, 0, "{Then} a {heron} {waited} {by} the {mill}.\n"},
    {"turn", 2, MONEY, 0, "{Then} a {baker} {waited} {by} the {desk}.\n"},
    {"turn", 1, OTHER, 0, "{Then} the {other} {waited} {by} the {place}.\n"},
    {"Then", 1, 0, 0, "Then|Soon|Later|Once"},

    {"closing", 2, 0, 0, "{They} left the bank {early}."},
    {"closing", 1, THING, 0, "{They} left with the {thing} {early}."},
    {"closing", 2, RIVER, 0, "{Name} {walked} home by the {muddy} {mill}."},
    {"closing", 2, MONEY, 0, "{Name} {walked} home by the {grand} {desk}."},
    {"closing", 2, RAIN, 0, "{They} left when the rain stopped."},
    {"closing", 2, SUN, 0, "{They} left when the sun set."},
    {"closing", 2, WIND, 0, "{They} left when the wind dropped."},
    {"closing", 2, SNOW, 0, "{They} left when the snow melted."},

    /* What was said before, again. */
    {"Name", 1, ANNA, 0, "Anna"},
    {"Name", 1, EVA, 0, "Eva"},
    {"Name", 1, LILY, 0, "Lily"},
    {"Name", 1, RUTH, 0, "Ruth"},
    {"Name", 1, BEN, 0, "Ben"},
    {"Name", 1, HUGO, 0, "Hugo"},
    {"Name", 1, SAM, 0, "Sam"},
    {"Name", 1, TOM, 0, "Tom"},
    {"They", 1, SHE, 0, "She"},
    {"They", 1, HE, 0, "He"},
    {"them", 1, SHE, 0, "her"},
    {"them", 1, HE, 0, "him"},
    {"thing", 1, NET, 0, "net"},
    {"thing", 1, ROPE, 0, "rope"},
    {"thing", 1, BOAT, 0, "boat"},
    {"thing", 1, HOOK, 0, "hook"},
    {"thing", 1, PURSE, 0, "purse"},
    {"thing", 1, WATCH, 0, "watch"},
    {"thing", 1, COIN, 0, "coin"},
    {"thing", 1, LEDGER, 0, "ledger"},
    {"other", 1, FERRYMAN, 0, "ferryman"},
    {"other", 1, MONK, 0, "monk"},
    {"other", 1, TELLER, 0, "teller"},
    {"other", 1, GUARD, 0, "guard"},
};

const struct grammar_source bank_source = {rows, sizeof rows / sizeof *rows, groups, sizeof groups / sizeof *groups};
