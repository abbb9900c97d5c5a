#include "text/bank.h"

/* Which bank it is follows from another word: from the one beside it ("the muddy bank"), from one later in the
 * sentence ("to the bank with a rope"), from one long before it, or from the next sentence. Who came, what they
 * carried, whom they met and what the weather was come back later in the story. Everything that is decided shows in the
 * text, and no two alternatives of a choice lead to the same words, so that a text has one derivation only. */

#define FEATURE(n) (UINT64_C(1) << (n))

/* The sense of "bank" */
#define RIVER FEATURE(0)
#define MONEY FEATURE(1)
#define EITHER FEATURE(2) /* not told yet */

/* Who goes there, and how they are spoken of */
#define SHE FEATURE(3)
#define HE FEATURE(4)
#define THEY FEATURE(5)
#define ANNA FEATURE(6)
#define CLARA FEATURE(7)
#define RUTH FEATURE(8)
#define NORA FEATURE(9)
#define TOM FEATURE(10)
#define PETER FEATURE(11)
#define HUGO FEATURE(12)
#define SAM FEATURE(13)
#define TWINS FEATURE(14)
#define SISTERS FEATURE(15)
#define ONE (ANNA | CLARA | RUTH | NORA | TOM | PETER | HUGO | SAM)

/* What they carry */
#define NET FEATURE(16)
#define ROPE FEATURE(17)
#define BOAT FEATURE(18)
#define BASKET FEATURE(19)
#define BUCKET FEATURE(20)
#define PURSE FEATURE(21)
#define LETTER FEATURE(22)
#define WATCH FEATURE(23)
#define RING FEATURE(24)
#define COIN FEATURE(25)
#define THING (NET | ROPE | BOAT | BASKET | BUCKET | PURSE | LETTER | WATCH | RING | COIN)

/* ... and what it is like */
#define OLD FEATURE(26)
#define NEW FEATURE(27)
#define SMALL FEATURE(28)
#define HEAVY FEATURE(29)

#define RAIN FEATURE(30)
#define SUN FEATURE(31)
#define WIND FEATURE(32)
#define FROST FEATURE(33)

/* Whom they meet */
#define FERRYMAN FEATURE(34)
#define MILLER FEATURE(35)
#define SHEPHERD FEATURE(36)
#define TELLER FEATURE(37)
#define MANAGER FEATURE(38)
#define GUARD FEATURE(39)
#define OTHER (FERRYMAN | MILLER | SHEPHERD | TELLER | MANAGER | GUARD)

static const uint64_t groups[] = {
    RIVER | MONEY | EITHER,    SHE | HE | THEY, ONE | TWINS | SISTERS, THING, OLD | NEW | SMALL | HEAVY,
    RAIN | SUN | WIND | FROST, OTHER,
};

static const struct grammar_row rows[] = {
    {"story", 1, 0, 0, "{opening}\n{scene}{meeting}{deed}{turn}{closing}\n\n"},

    {"opening", 3, 0, 0, "{Who} {visit}"},
    {"opening", 2, 0, 0, "{Weather}, {who} {visit}"},
    {"Weather", 1, 0, RAIN, "One rainy {day}"},
    {"Weather", 1, 0, SUN, "One sunny {day}"},
    {"Weather", 1, 0, WIND, "One windy {day}"},
    {"Weather", 1, 0, FROST, "One frosty {day}"},
    {"day", 1, 0, 0, "day|morning|evening|Monday|Friday|Sunday"},
    {"Who", 5, 0, 0, "{person}"},
    {"Who", 1, 0, THEY | TWINS, "The twins"},
    {"Who", 1, 0, THEY | SISTERS, "The sisters"},
    {"who", 5, 0, 0, "{person}"},
    {"who", 1, 0, THEY | TWINS, "the twins"},
    {"who", 1, 0, THEY | SISTERS, "the sisters"},
    {"person", 1, 0, SHE | ANNA, "Anna"},
    {"person", 1, 0, SHE | CLARA, "Clara"},
    {"person", 1, 0, SHE | RUTH, "Ruth"},
    {"person", 1, 0, SHE | NORA, "Nora"},
    {"person", 1, 0, HE | TOM, "Tom"},
    {"person", 1, 0, HE | PETER, "Peter"},
    {"person", 1, 0, HE | HUGO, "Hugo"},
    {"person", 1, 0, HE | SAM, "Sam"},

    /* How the sense shows: after "bank", before it, beside it, or not yet. */
    {"visit", 3, 0, 0, "{walked} to the bank with {a_thing}."},
    {"visit", 3, 0, 0, "{took} {a_thing} to the bank."},
    {"visit", 2, 0, RIVER, "{walked} to the {muddy} bank to {fish}."},
    {"visit", 2, 0, MONEY, "{walked} to the {marble} bank to {pay}."},
    {"visit", 2, 0, RIVER, "{hoped} to {fish}, so {they} {walked} to the bank."},
    {"visit", 2, 0, MONEY, "{hoped} to {pay}, so {they} {walked} to the bank."},
    {"visit", 3, 0, EITHER, "{walked} to the bank {early}."},
    {"walked", 1, 0, 0, "walked|went|came|hurried|ran|rode|drove|strolled"},
    {"took", 1, 0, 0, "took|brought|carried"},
    {"hoped", 1, 0, 0, "hoped|wanted|longed|needed"},
    {"early", 1, 0, 0, "early|late|alone|at noon|at dawn|in silence|in haste|after lunch|before supper|as usual"},
    {"muddy", 1, 0, 0, "muddy|wet|green|steep|grassy|sandy|mossy|flooded|slippery|reedy"},
    {"marble", 1, 0, 0, "marble|new|busy|crowded|famous|royal|private|guarded|wealthy|modern"},
    {"fish", 1, 0, 0, "fish|swim|row|paddle|sail|cool off|pick {flowers}|look for {frogs}|watch the {frogs}"},
    {"flowers", 1, 0, 0, "flowers|herbs|berries|rushes"},
    {"frogs", 1, 0, 0, "frogs|ducks|otters|swans|herons|crabs|beavers|eels"},
    {"pay", 1, 0, 0, "borrow {money}|deposit {money}|pay a {debt}|settle a {debt}|open an account|ask for a loan"},
    {"money", 1, 0, 0, "money|gold|silver|cash|savings"},
    {"debt", 1, 0, 0, "debt|bill|fine|tax"},
    {"a_thing", 1, 0, RIVER, "{a}{a_river_thing}"},
    {"a_thing", 1, 0, MONEY, "{a}{a_money_thing}"},
    {"a", 4, 0, 0, "a "},
    {"a", 1, 0, OLD, "an old "},
    {"a", 1, 0, NEW, "a new "},
    {"a", 1, 0, SMALL, "a small "},
    {"a", 1, 0, HEAVY, "a heavy "},
    {"a_river_thing", 1, 0, NET, "net"},
    {"a_river_thing", 1, 0, ROPE, "rope"},
    {"a_river_thing", 1, 0, BOAT, "boat"},
    {"a_river_thing", 1, 0, BASKET, "basket"},
    {"a_river_thing", 1, 0, BUCKET, "bucket"},
    {"a_money_thing", 1, 0, PURSE, "purse"},
    {"a_money_thing", 1, 0, LETTER, "letter"},
    {"a_money_thing", 1, 0, WATCH, "watch"},
    {"a_money_thing", 1, 0, RING, "ring"},
    {"a_money_thing", 1, 0, COIN, "coin"},

    {"scene", 1, RIVER | MONEY, 0, ""},
    {"scene", 2, RIVER, 0, "{river_scene}\n"},
    {"scene", 2, MONEY, 0, "{money_scene}\n"},
    {"scene", 1, EITHER, RIVER, "{river_scene}\n"},
    {"scene", 1, EITHER, MONEY, "{money_scene}\n"},
    {"river_scene", 3, 0, 0, "The {stream} was {cold}, and the {reeds} were {tall}."},
    {"river_scene", 2, 0, 0, "The bank was {muddy}, and {heron} {slept} {near} the {bridge}."},
    {"river_scene", 2, 0, 0, "{Grey} {reeds} {grew} {near} the {bridge}."},
    {"money_scene", 3, 0, 0, "The {queue} was {slow}, and the {clerks} were {polite}."},
    {"money_scene", 2, 0, 0, "The bank was {marble}, and {farmer} {argued} {near} the {safe}."},
    {"money_scene", 2, 0, 0, "{Rich} {clerks} {counted} {near} the {safe}."},
    {"stream", 1, 0, 0, "stream|river|water|current|pool"},
    {"cold", 1, 0, 0, "cold|low|high|brown|clear|deep|calm|wild|swift|shallow"},
    {"reeds", 1, 0, 0, "reeds|stones|willows|lilies|roots|nettles|rushes|ferns"},
    {"tall", 1, 0, 0, "tall|green|wet|still|dark|old|yellow|thick"},
    {"Grey", 1, 0, 0, "Grey|Green|Tall|Old|Dark|Thick|Wild|Many"},
    {"grew", 1, 0, 0, "grew|shone|stood|lay"},
    {"heron", 1, 0, 0, "a {otter}|an old {otter}|a young {otter}"},
    {"otter", 1, 0, 0, "heron|duck|swan|frog|goose|beaver|crane|fox|trout|rat"},
    {"slept", 1, 0, 0, "slept|waited|hid|swam|fed|called|drank|played"},
    {"near", 1, 0, 0, "near|beside|behind|by|under"},
    {"bridge", 1, 0, 0, "bridge|mill|willow|ferry|ford|island|dam|meadow|jetty|rocks|weir|boathouse"},
    {"queue", 1, 0, 0, "queue|line|service|clock|lift"},
    {"slow", 1, 0, 0, "slow|long|short|noisy|silent|new|broken|late|orderly|endless"},
    {"clerks", 1, 0, 0, "clerks|cashiers|lawyers|brokers|traders|buyers|lenders|auditors"},
    {"polite", 1, 0, 0, "polite|rude|bored|tired|patient|careful|busy|cheerful"},
    {"Rich", 1, 0, 0, "Rich|Poor|Young|Old|Stern|Clever|Honest|Several"},
    {"counted", 1, 0, 0, "stood|talked|worked|laughed"},
    {"farmer", 1, 0, 0, "a {baker}|an old {baker}|a young {baker}"},
    {"baker", 1, 0, 0, "baker|farmer|widow|sailor|lawyer|miner|judge|nurse|tailor|painter"},
    {"argued", 1, 0, 0, "argued|waited|coughed|sighed|smiled|whispered|shouted|dozed"},
    {"safe", 1, 0, 0, "safe|counter|window|door|desk|lamp|stairs|gate|vault|table|ledger|pillar"},

    {"meeting", 2, 0, 0, ""},
    {"meeting", 2, 0, 0, "{A_stranger} {waved} to {them}{softly}.\n"},
    {"meeting", 2, 0, 0, "{A_stranger} told {them} that {news}.\n"},
    {"meeting", 2, RIVER, 0, "\"The {bank_or_stream} is {cold},\" said {a_stranger}.\n"},
    {"meeting", 2, MONEY, 0, "\"The {bank_or_queue} is {slow},\" said {a_stranger}.\n"},
    {"bank_or_stream", 1, 0, 0, "bank|{stream}"},
    {"bank_or_queue", 1, 0, 0, "bank|{queue}"},
    {"waved", 1, 0, 0, "waved|nodded|spoke|called|pointed|sang"},
    {"softly", 2, 0, 0, ""},
    {"softly", 1, 0, 0, " softly| slowly| kindly| gladly| sadly| loudly| twice| again"},
    {"news", 1, RIVER, 0, "the {stream} was {cold}|the {reeds} were {tall}"},
    {"news", 1, MONEY, 0, "the {queue} was {slow}|the {clerks} were {polite}"},
    {"A_stranger", 1, 0, 0, "A {stranger}"},
    {"a_stranger", 1, 0, 0, "a {stranger}"},
    {"stranger", 1, RIVER, FERRYMAN, "ferryman"},
    {"stranger", 1, RIVER, MILLER, "miller"},
    {"stranger", 1, RIVER, SHEPHERD, "shepherd"},
    {"stranger", 1, MONEY, TELLER, "teller"},
    {"stranger", 1, MONEY, MANAGER, "manager"},
    {"stranger", 1, MONEY, GUARD, "guard"},

    {"deed", 5, THING, 0, "{They} {handled} the {adj}{thing}{softly} {there}{help}.\n"},
    {"deed", 1, 0, 0, "{They} {rested}{softly} {there}{help}.\n"},
    {"handled", 1, NET, 0, "cast|mended|dried|washed|spread|folded"},
    {"handled", 1, ROPE, 0, "tied|pulled|cut|mended|dried|coiled"},
    {"handled", 1, BOAT, 0, "pushed|pulled|painted|tied|mended|washed"},
    {"handled", 1, BASKET | BUCKET, 0, "filled|emptied|washed|dropped|hid|mended"},
    {"handled", 1, PURSE, 0, "opened|emptied|dropped|hid|filled|shook"},
    {"handled", 1, LETTER, 0, "opened|read|signed|dropped|hid|folded"},
    {"handled", 1, WATCH | RING, 0, "sold|cleaned|hid|dropped|pawned|weighed"},
    {"handled", 1, COIN, 0, "dropped|weighed|hid|spent|changed|cleaned"},
    {"rested", 1, 0, 0, "rested|waited|sat|stood|dreamed|sang"},
    {"there", 1, RIVER, 0, "on the bank"},
    {"there", 1, MONEY, 0, "in the bank"},
    {"there", 3, RIVER, 0, "{near} the {bridge}"},
    {"there", 3, MONEY, 0, "{near} the {safe}"},
    {"help", 2, 0, 0, ""},
    {"help", 2, OTHER, 0, ", and the {other} {watched}"},
    {"watched", 1, 0, 0, "watched|helped|laughed|left|slept|sang|frowned|clapped"},

    {"turn", 2, 0, 0, ""},
    {"turn", 5, 0, 0, "{Then} {event}.\n"},
    {"Then", 1, 0, 0, "Then|Soon|Suddenly|Later|Once|At once"},
    {"event", 4, RIVER, 0, "{heron} {slept} {near} the {bridge}"},
    {"event", 4, MONEY, 0, "{farmer} {argued} {near} the {safe}"},
    {"event", 2, RIVER, 0, "{they} heard {heron} on the other bank"},
    {"event", 2, MONEY, 0, "{they} heard {farmer} in the street"},
    {"event", 2, OTHER, 0, "the {other} {watched}{softly}"},
    {"event", 2, RAIN, 0, "the rain grew {harder}"},
    {"event", 2, SUN, 0, "the sun grew {hotter}"},
    {"event", 2, WIND, 0, "the wind grew {harder}"},
    {"event", 2, FROST, 0, "it began to snow"},
    {"harder", 1, 0, 0, "stronger|wilder|colder|weaker"},
    {"hotter", 1, 0, 0, "hotter|brighter|warmer|weaker"},

    {"closing", 3, 0, 0, "{At_dusk} {they} left the bank with {gain}."},
    {"closing", 5, 0, 0, "{Name} {was} {glad}."},
    {"closing", 4, RAIN, 0, "{They} went home when the rain stopped."},
    {"closing", 4, SUN, 0, "{They} went home when the sun set."},
    {"closing", 4, WIND, 0, "{They} went home when the wind dropped."},
    {"closing", 4, FROST, 0, "{They} went home when the frost was gone."},
    {"At_dusk", 1, 0, 0, "At dusk|At last|In the end|At six|That night"},
    {"gain", 3, THING, 0, "the {adj}{thing}"},
    {"gain", 1, RIVER, 0, "wet feet|two fish|a {otter}|some {flowers}"},
    {"gain", 1, MONEY, 0, "a loan|some {money}|a receipt"},
    {"glad", 1, 0, 0, "{happy}, for {good}|{sorry}, for {bad}"},
    {"happy", 1, 0, 0, "happy|glad|proud|cheerful|thankful|merry"},
    {"sorry", 1, 0, 0, "sad|angry|sorry|worried|ashamed|gloomy"},
    {"good", 1, RIVER, 0, "the {river_good} {was_fair}"},
    {"good", 1, MONEY, 0, "the {money_good} {was_fair}"},
    {"bad", 1, RIVER, 0, "the {river_good} {was_foul}"},
    {"bad", 1, MONEY, 0, "the {money_good} {was_foul}"},
    {"river_good", 1, 0, 0, "river|bank|fishing|current|ferry"},
    {"money_good", 1, 0, 0, "money|bank|interest|loan|price"},
    {"was_fair", 1, 0, 0, "was {fair}"},
    {"was_foul", 1, 0, 0, "was {foul}"},
    {"fair", 1, 0, 0, "safe|good|fair|kind|perfect|better"},
    {"foul", 1, 0, 0, "lost|bad|poor|cruel|ruined|worse"},

    /* What was said before, again */
    {"Name", 1, ONE, 0, "{name}"},
    {"Name", 1, TWINS, 0, "The twins"},
    {"Name", 1, SISTERS, 0, "The sisters"},
    {"name", 1, ANNA, 0, "Anna"},
    {"name", 1, CLARA, 0, "Clara"},
    {"name", 1, RUTH, 0, "Ruth"},
    {"name", 1, NORA, 0, "Nora"},
    {"name", 1, TOM, 0, "Tom"},
    {"name", 1, PETER, 0, "Peter"},
    {"name", 1, HUGO, 0, "Hugo"},
    {"name", 1, SAM, 0, "Sam"},
    {"was", 1, SHE | HE, 0, "was"},
    {"was", 1, THEY, 0, "were"},
    {"they", 1, SHE, 0, "she"},
    {"they", 1, HE, 0, "he"},
    {"they", 1, THEY, 0, "they"},
    {"They", 1, SHE, 0, "She"},
    {"They", 1, HE, 0, "He"},
    {"They", 1, THEY, 0, "They"},
    {"them", 1, SHE, 0, "her"},
    {"them", 1, HE, 0, "him"},
    {"them", 1, THEY, 0, "them"},
    {"adj", 1, 0, 0, ""},
    {"adj", 2, OLD, 0, "old "},
    {"adj", 2, NEW, 0, "new "},
    {"adj", 2, SMALL, 0, "small "},
    {"adj", 2, HEAVY, 0, "heavy "},
    {"thing", 1, NET, 0, "net"},
    {"thing", 1, ROPE, 0, "rope"},
    {"thing", 1, BOAT, 0, "boat"},
    {"thing", 1, BASKET, 0, "basket"},
    {"thing", 1, BUCKET, 0, "bucket"},
    {"thing", 1, PURSE, 0, "purse"},
    {"thing", 1, LETTER, 0, "letter"},
    {"thing", 1, WATCH, 0, "watch"},
    {"thing", 1, RING, 0, "ring"},
    {"thing", 1, COIN, 0, "coin"},
    {"other", 1, FERRYMAN, 0, "ferryman"},
    {"other", 1, MILLER, 0, "miller"},
    {"other", 1, SHEPHERD, 0, "shepherd"},
    {"other", 1, TELLER, 0, "teller"},
    {"other", 1, MANAGER, 0, "manager"},
    {"other", 1, GUARD, 0, "guard"},
};

const struct grammar_source bank_source = {rows, sizeof rows / sizeof *rows, groups, sizeof groups / sizeof *groups};
