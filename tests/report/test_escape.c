#include "report/escape.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect(const char *text, size_t n, const char *want)
{
    struct buffer b = {0};
    escape_text(&b, text, n);
    cr_assert_str_eq(b.bytes ? b.bytes : "", want);
    buffer_free(&b);
}
#define EXPECT(text, want) expect((text), sizeof(text) - 1, (want))

Test(escape, markup_is_text)
{
    EXPECT("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    EXPECT("]]><!-- & \"", "]]&gt;&lt;!-- &amp; &quot;");
    EXPECT("&amp;", "&amp;amp;");
}

Test(escape, letters_of_any_script_and_line_feeds_stay)
{
    EXPECT("a\n\tz", "a\n\tz");
    EXPECT("\u00e9\u4e2d\U0001f600\u00a0", "\u00e9\u4e2d\U0001f600\u00a0");
    EXPECT("", "");
}

Test(escape, what_is_not_seen_is_shown)
{
    EXPECT("\0\x1b[2J\r\x7f", "[U+0000][U+001B][2J[U+000D][U+007F]");
    EXPECT("\xc2\x85\u2028\u202e\u200b\ufeff", "[U+0085][U+2028][U+202E][U+200B][U+FEFF]");
}

Test(escape, bytes_that_are_no_utf8_are_shown_one_by_one)
{
    EXPECT("\xff\x80", "[0xFF][0x80]");
    EXPECT("\xc3", "[0xC3]");                               /* cut short */
    EXPECT("\xc0\xbc", "[0xC0][0xBC]");                     /* '<' written too long */
    EXPECT("\xed\xa0\x80", "[0xED][0xA0][0x80]");           /* a surrogate */
    EXPECT("\xf4\x90\x80\x80", "[0xF4][0x90][0x80][0x80]"); /* past the last code point */
    EXPECT("\xe2<", "[0xE2]&lt;");                          /* a lead byte takes no markup with it */
}
