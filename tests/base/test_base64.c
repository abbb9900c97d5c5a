#include "base/base64.h"

#include <criterion/criterion.h>
#include <string.h>

/* The vectors of RFC 4648, section 10. */
static const char *const vectors[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"}};

Test(base64, writes_the_standards_own_examples)
{
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        char out[16] = "";
        const size_t n = strlen(vectors[i][0]);
        base64_encode(out, vectors[i][0], n);
        cr_assert_eq(base64_length(n), strlen(vectors[i][1]));
        cr_assert_str_eq(out, vectors[i][1]);
        cr_assert(base64_is(vectors[i][1], strlen(vectors[i][1]), n));
    }
}

Test(base64, writes_bytes_of_every_value)
{
    unsigned char all[256];
    char out[345] = "";
    for (size_t i = 0; i < 256; i++)
        all[i] = (unsigned char)(255 - i);
    base64_encode(out, all, sizeof all);
    cr_assert_eq(strlen(out), 344);
    cr_assert_eq(strncmp(out, "//79/Pv6", 8), 0, "%s", out);
    cr_assert_str_eq(out + 336, "AwIBAA==");
}

Test(base64, knows_what_it_would_not_write)
{
    cr_assert_not(base64_is("Zg==", 4, 2));
    cr_assert_not(base64_is("Zm8=", 4, 1));
    cr_assert_not(base64_is("Zm9", 3, 2));
    cr_assert_not(base64_is("Z<9v", 4, 3));
    cr_assert_not(base64_is("Zm=v", 4, 3));
    cr_assert_not(base64_is("Z\0"
                            "9v",
                            4, 3));
    cr_assert_not(base64_is("Zh==", 4, 1), "spare bits are set");
    cr_assert_not(base64_is("Zm9=", 4, 2), "spare bits are set");
}
