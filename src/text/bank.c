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
#define PURSE FEATURE(16)
#define WATCH FEATURE(17)
#define COIN FEATURE(18)
#define THING (NET | ROPE | BOAT | PURSE | WATCH | COIN)

/* What the weather is. */
#define RAIN FEATURE(19)
#define WIND FEATURE(20)
#define SNOW FEATURE(21)
#define FOG FEATURE(22)

/* Whom they meet. */
#define FERRYMAN FEATURE(23)
#define ANGLER FEATURE(24)
#define TELLER FEATURE(25)
#define GUARD FEATURE(26)
#define OTHER (FERRYMAN | ANGLER | TELLER | GUARD)

static const uint64_t groups[] = {RIVER | MONEY | EITHER, SHE | HE, WHO, THING, RAIN | WIND | SNOW | FOG, OTHER};

static const struct grammar_row rows[] = {
    {"story", 1, 0, 0, "{opening}\n{scene}{meeting}{deed}{turn}{closing}\n\n"},

    /* How the sense shows: before "bank", after it, or not yet. */
    {"opening", 1, 0, 0, "{Who} {visit}"},
    {"opening", 1, 0, 0, "In the {weather}, {Who} {visit}"},
    {"visit", 3, 0, RIVER, "{walked} to the {muddy} bank {early}."},
    {"visit", 3, 0, MONEY, "{walked} to the {rich} bank {early}."},
    {"visit", 2, 0, 0, "{walked} to the bank with a {small} {new_thing}."},
    {"visit", 2, 0, 0, "took a {small} {new_thing} to the bank {early}."},
    {"visit", 3, 0, EITHER, "{walked} to the bank {early}."},
    {"weather", 1, 0, RAIN, "rain"},
    {"weather", 1, 0, WIND, "wind"},
    {"weather", 1, 0, SNOW, "snow"},
    {"weather", 1, 0, FOG, "fog"},
    {"Who", 1, 0, SHE | ANNA, "Anna"},
    {"Who", 1, 0, SHE | EVA, "Eva"},
    {"Who", 1, 0, SHE | LILY, "Lily"},
    {"Who", 1, 0, SHE | RUTH, "Ruth"},
    {"Who", 1, 0, HE | BEN, "Ben"},
    {"Who", 1, 0, HE | HUGO, "Hugo"},
    {"Who", 1, 0, HE | SAM, "Sam"},
    {"Who", 1, 0, HE | TOM, "Tom"},
    {"walked", 1, 0, 0, "walked|came|ran|hurried|drove|strolled|rode|rushed"},
    {"early", 1, 0, 0,
     "early|late|alone|twice|at noon|at dawn|in haste|once more|on Monday|on Friday|in silence|at dusk"},
    {"small", 1, 0, 0,
     "small|tall|grey|quiet|fine|dusty|pretty|lonely|plain|humble|calm|dark|pale|gentle|lovely|sturdy|strange|tiny|"
     "huge|"
     "brown|white|black|proud|shy"},
    {"muddy", 1, 0, 0, "muddy|wet|sandy|green|steep|grassy|mossy|rocky"},
    {"rich", 1, 0, 0, "rich|busy|honest|royal|modern|grand|famous|trusted"},
    {"new_thing", 1, 0, RIVER, "{river_thing}"},
    {"new_thing", 1, 0, MONEY, "{money_thing}"},
    {"river_thing", 1, 0, NET, "net"},
    {"river_thing", 1, 0, BOAT, "boat"},
    {"river_thing", 1, 0, ROPE, "rope"},
    {"money_thing", 1, 0, PURSE, "purse"},
    {"money_thing", 1, 0, COIN, "coin"},
    {"money_thing", 1, 0, WATCH, "watch"},

    {"scene", 1, RIVER | MONEY, 0, "A {small} {dog} {waited} {by} the {small} {place}.\n"},
    {"scene", 2, RIVER, 0, "{river_scene}\n"},
    {"scene", 2, MONEY, 0, "{money_scene}\n"},
    {"scene", 1, EITHER, RIVER, "{river_scene}\n"},
    {"scene", 1, EITHER, MONEY, "{money_scene}\n"},
    {"river_scene", 1, 0, 0, "The bank was {muddy}, and the {place} was {small}."},
    {"river_scene", 2, 0, 0, "A {small} {otter} {waited} {by} the {small} {place}."},
    {"money_scene", 1, 0, 0, "The bank was {rich}, and the {place} was {small}."},
    {"money_scene", 2, 0, 0, "A {small} {judge} {waited} {by} the {small} {place}."},
    {"dog", 1, 0, 0, "dog|cat|horse|goat|mouse|lamb|robin|kitten|pony|donkey|sparrow|rabbit|hen|crow|moth|hound"},
    {"otter", 1, 0, 0, "heron|duck|fox|toad|otter|frog|swan|beaver"},
    {"judge", 1, 0, 0, "judge|nurse|baker|widow|lawyer|miner|tailor|farmer"},
    {"waited", 1, 0, 0,
     "waited|slept|hid|rested|danced|laughed|yawned|played|sang|stood|sat|shivered|listened|paused|smiled|dozed"},
    {"by", 1, 0, 0, "by|near|under|behind|beside|below"},
    {"place", 1, 0, 0, "bridge|gate|tree|wall|fence|door|lamp|house|rock|path|well|tower|clock|garden|stone|stair"},

    {"meeting", 4, 0, 0, ""},
    {"meeting", 1, 0, 0, "A {small} {stranger} {waved} to {them} {early}.\n"},
    {"meeting", 2, 0, 0, "A {small} {stranger} {waited} {by} the {small} {place}.\n"},
    {"meeting", 1, RIVER, 0, "\"The bank is {muddy},\" said a {small} {stranger}.\n"},
    {"meeting", 1, MONEY, 0, "\"The bank is {rich},\" said a {small} {stranger}.\n"},
    {"waved", 1, 0, 0, "waved|nodded|bowed|spoke|called|pointed|whispered|shouted"},
    {"stranger", 1, RIVER, FERRYMAN, "ferryman"},
    {"stranger", 1, RIVER, ANGLER, "angler"},
    {"stranger", 1, MONEY, TELLER, "teller"},
    {"stranger", 1, MONEY, GUARD, "guard"},

    {"deed", 3, THING, 0, "{They} {found} the {thing} {by} the {small} {place}{help}.\n"},
    {"deed", 3, 0, 0, "{They} {waited} {by} the {small} {place}{help}.\n"},
    {"found", 1, 0, 0, "found|lost|cleaned|dropped|kept|mended|showed|washed"},
    {"help", 5, 0, 0, ""},
    {"help", 2, 0, 0, ", and the {dog} {waited}"},
    {"help", 2, OTHER, 0, ", and the {other} {waited}"},

    {"turn", 2, 0, 0, ""},
    {"turn", 3, RIVER, 0, "{Then} a {small} {otter} {waited} {early}.\n"},
    {"turn", 3, MONEY, 0, "{Then} a {small} {judge} {waited} {early}.\n"},
    {"turn", 3, 0, 0, "{Then} a {small} {dog} {waited} {early}.\n"},
    {"turn", 3, 0, 0, "{Then} a {small} bell rang {by} the {small} {place}.\n"},
    {"Then", 1, 0, 0, "Then|Soon|Later|Once"},

    {"closing", 3, 0, 0, "{They} left the bank {early}."},
    {"closing", 1, THING, 0, "{They} left with the {thing} {early}."},
    {"closing", 1, 0, 0, "{Name} {walked} home {early}."},
    {"closing", 3, 0, 0, "The bank was {small} {again}."},
    {"closing", 1, RAIN, 0, "The rain stopped {again}."},
    {"closing", 1, WIND, 0, "The wind dropped {again}."},
    {"closing", 1, SNOW, 0, "The snow melted {again}."},
    {"closing", 1, FOG, 0, "The fog lifted {again}."},
    {"again", 1, 0, 0, "at noon|once more|on Monday|at last|at dusk|on Sunday"},

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
    {"thing", 1, PURSE, 0, "purse"},
    {"thing", 1, WATCH, 0, "watch"},
    {"thing", 1, COIN, 0, "coin"},
    {"other", 1, FERRYMAN, 0, "ferryman"},
    {"other", 1, ANGLER, 0, "angler"},
    {"other", 1, TELLER, 0, "teller"},
    {"other", 1, GUARD, 0, "guard"},
};

const struct grammar_source bank_source = {rows, sizeof rows / sizeof *rows, groups, sizeof groups / sizeof *groups};
