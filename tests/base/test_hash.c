#include <criterion/criterion.h>
#include <string.h>

#include "base/hash.h"

/* From xxHash's own `xxh128sum`. */
Test(hash, gives_the_digits_that_other_tools_print)
{
    char out[HASH_TEXT_SIZE];
    hash_bytes(out, "", 0);
    cr_assert_str_eq(out, "99aa06d3014798d86001c324468d497f");
    hash_bytes(out, "a", 1);
    cr_assert_str_eq(out, "a96faf705af16834e6c632b61e964e1f");
    hash_bytes(out, "river bank", 10);
    cr_assert_str_eq(out, "c6ed21438688f0c7569c06d7f645d682");
}

Test(hash, every_byte_and_the_length_count)
{
    unsigned char bytes[1000] = {0};
    char whole[HASH_TEXT_SIZE], other[HASH_TEXT_SIZE];
    hash_bytes(whole, bytes, sizeof bytes);
    cr_assert_eq(strlen(whole), HASH_TEXT_SIZE - 1u);
    hash_bytes(other, bytes, sizeof bytes - 1);
    cr_assert_str_neq(other, whole);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 1;
        hash_bytes(other, bytes, sizeof bytes);
        cr_assert_str_neq(other, whole, "byte %zu is not seen", i);
        bytes[i] = 0;
    }
}

Test(hash, its_text_is_32_digits_of_lower_case_and_nothing_else)
{
    char text[HASH_TEXT_SIZE];
    hash_bytes(text, "a", 1);
    cr_assert(hash_is_text(text));
    static const char *const not [] = {"",
                                       "0",
                                       "0123456789abcdef0123456789abcde",
                                       "0123456789abcdef0123456789abcdef0",
                                       "0123456789ABCDEF0123456789abcdef",
                                       "0123456789abcdef 123456789abcdef"};
    for (size_t i = 0; i < sizeof not / sizeof not [0]; i++)
        cr_assert_not(hash_is_text(not [i]), "'%s'", not [i]);
}
