#define _XOPEN_SOURCE 700
#include "support/browser.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/devtools.h"

struct browser {
    struct devtools *devtools;
    char page[64], workshop[64]; /* sessions: the page looked at, and one where pictures are taken apart */
    char address[4096];          /* of the page that was opened */
    json_t *complaints, *requests;
    size_t loads;
};

const struct browser_view BROWSER_DESK = {.name = "1280 px, light", .width = 1280, .height = 800, .scale = 1};
const struct browser_view BROWSER_DESK_DARK = {
    .name = "1280 px, dark", .width = 1280, .height = 800, .scale = 1, .dark = true};
const struct browser_view BROWSER_PHONE = {
    .name = "360 px, light", .width = 360, .height = 740, .scale = 2, .phone = true, .still = true};
const struct browser_view BROWSER_PHONE_DARK = {
    .name = "360 px, dark", .width = 360, .height = 740, .scale = 2, .phone = true, .dark = true, .still = true};

/* --- what the page says of itself -------------------------------------------------------------- */

static const char *word(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void complain(struct browser *b, const char *kind, const char *what, const char *where)
{
    json_array_append_new(b->complaints, json_sprintf("%s: %s%s%s", kind, what, where[0] ? " at " : "", where));
}

static void said(struct browser *b, const json_t *params)
{
    const json_t *first = json_array_get(json_object_get(params, "args"), 0);
    const char *text = word(first, "description");
    complain(b, word(params, "type"), text[0] ? text : word(first, "value"), "");
}

static void thrown(struct browser *b, const json_t *params)
{
    const json_t *details = json_object_get(params, "exceptionDetails");
    complain(b, word(details, "text"), word(json_object_get(details, "exception"), "description"),
             word(details, "url"));
}

static void requested(struct browser *b, const json_t *params)
{
    const char *url = word(json_object_get(params, "request"), "url");
    if (strncmp(url, "data:", 5) != 0 && strncmp(url, "blob:", 5) != 0 && strcmp(url, b->address) != 0)
        json_array_append_new(b->requests, json_string(url));
}

static void listen(void *context, const json_t *event)
{
    struct browser *b = context;
    const char *method = word(event, "method");
    const json_t *params = json_object_get(event, "params"), *entry = json_object_get(params, "entry");
    if (strcmp(word(event, "sessionId"), b->page) != 0)
        return;
    if (strcmp(method, "Runtime.consoleAPICalled") == 0)
        said(b, params);
    else if (strcmp(method, "Runtime.exceptionThrown") == 0)
        thrown(b, params);
    else if (strcmp(method, "Log.entryAdded") == 0)
        complain(b, word(entry, "level"), word(entry, "text"), word(entry, "url"));
    else if (strcmp(method, "Network.requestWillBeSent") == 0)
        requested(b, params);
    else if (strcmp(method, "Network.webSocketCreated") == 0 || strcmp(method, "Page.windowOpen") == 0)
        json_array_append_new(b->requests, json_string(word(params, "url")));
    else if (strcmp(method, "Page.loadEventFired") == 0)
        b->loads++;
    else if (strcmp(method, "Inspector.targetCrashed") == 0)
        complain(b, "crash", "the page is gone", "");
    else if (strcmp(method, "Page.javascriptDialogOpening") == 0) {
        complain(b, "dialog", word(params, "message"), "");
        devtools_post(b->devtools, b->page, "Page.handleJavaScriptDialog", json_pack("{sb}", "accept", 1));
    }
}

/* --- opening ----------------------------------------------------------------------------------- */

static void call(struct browser *b, const char *method, json_t *params)
{
    json_decref(devtools_call(b->devtools, b->page, method, params));
}

static void new_page(struct browser *b, char session[64])
{
    json_t *target = devtools_call(b->devtools, NULL, "Target.createTarget", json_pack("{ss}", "url", "about:blank"));
    json_t *attached = devtools_call(b->devtools, NULL, "Target.attachToTarget",
                                     json_pack("{ss, sb}", "targetId", word(target, "targetId"), "flatten", 1));
    snprintf(session, 64, "%s", word(attached, "sessionId"));
    json_decref(target);
    json_decref(attached);
}

struct browser *browser_open(void)
{
    const char *program = devtools_program();
    if (!program) {
        cr_assert_null(getenv("NOPEEK_NEED_BROWSER"), "no browser: run scripts/setup.sh, or set NOPEEK_BROWSER");
        cr_skip("no browser here: run scripts/setup.sh, or set NOPEEK_BROWSER to a Chromium");
    }
    struct browser *b = calloc(1, sizeof *b);
    cr_assert_not_null(b);
    b->complaints = json_array();
    b->requests = json_array();
    b->devtools = devtools_start(program, listen, b);
    new_page(b, b->workshop);
    new_page(b, b->page);
    static const char *const domains[] = {"Page.enable", "Runtime.enable", "Log.enable", "Network.enable",
                                          "Inspector.enable"};
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++)
        call(b, domains[i], NULL);
    call(b, "Network.emulateNetworkConditions",
         json_pack("{sb, si, si, si}", "offline", 1, "latency", 0, "downloadThroughput", -1, "uploadThroughput", -1));
    browser_view(b, &BROWSER_DESK);
    return b;
}

void browser_close(struct browser *b)
{
    if (!b)
        return;
    devtools_stop(b->devtools);
    json_decref(b->complaints);
    json_decref(b->requests);
    free(b);
}

static json_t *feature(const char *name, const char *value)
{
    return json_pack("{ss, ss}", "name", name, "value", value);
}

void browser_view(struct browser *b, const struct browser_view *view)
{
    call(b, "Emulation.setDeviceMetricsOverride",
         json_pack("{si, si, sf, sb}", "width", view->width, "height", view->height, "deviceScaleFactor", view->scale,
                   "mobile", view->phone));
    call(b, "Emulation.setTouchEmulationEnabled", json_pack("{sb}", "enabled", view->phone));
    call(b, "Emulation.setEmulatedMedia",
         json_pack("{s[oo]}", "features", feature("prefers-color-scheme", view->dark ? "dark" : "light"),
                   feature("prefers-reduced-motion", view->still ? "reduce" : "no-preference")));
}

static void address_of(char *address, size_t size, const char *path)
{
    size_t n = (size_t)snprintf(address, size, "file://");
    for (; *path; path++) {
        const bool plain = strchr("/-_.~", *path) || (*path >= '0' && *path <= '9') || (*path >= 'A' && *path <= 'Z') ||
                           (*path >= 'a' && *path <= 'z');
        cr_assert_lt(n + 4, size, "path too long");
        n += (size_t)snprintf(address + n, size - n, plain ? "%c" : "%%%02X", (unsigned char)*path);
    }
}

/* Two frames on: what a script has changed by now is on the screen. */
static void settle(struct browser *b)
{
    json_decref(browser_value(b, "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(() => f(0))))"));
}

void browser_go(struct browser *b, const char *path)
{
    char absolute[2048];
    cr_assert_not_null(realpath(path, absolute), "%s", path);
    address_of(b->address, sizeof b->address, absolute);
    json_array_clear(b->complaints);
    json_array_clear(b->requests);
    b->loads = 0;
    json_t *went = devtools_call(b->devtools, b->page, "Page.navigate", json_pack("{ss}", "url", b->address));
    cr_assert_str_eq(word(went, "errorText"), "", "%s", b->address);
    json_decref(went);
    browser_wait(b, "document.readyState === 'complete' && location.protocol === 'file:'");
    settle(b);
}

const json_t *browser_complaints(const struct browser *b)
{
    return b->complaints;
}

const json_t *browser_requests(const struct browser *b)
{
    return b->requests;
}

size_t browser_loads(const struct browser *b)
{
    return b->loads;
}

/* --- asking ------------------------------------------------------------------------------------ */

static json_t *evaluation(const char *expression)
{
    return json_pack("{ss, sb, sb}", "expression", expression, "returnByValue", 1, "awaitPromise", 1);
}

static json_t *evaluate(struct browser *b, const char *session, const char *expression)
{
    json_t *answer = devtools_call(b->devtools, session, "Runtime.evaluate", evaluation(expression));
    const json_t *details = json_object_get(answer, "exceptionDetails");
    cr_assert_null(details, "%s %s, in %.300s", word(details, "text"),
                   word(json_object_get(details, "exception"), "description"), expression);
    json_t *value = json_incref(json_object_get(json_object_get(answer, "result"), "value"));
    json_decref(answer);
    return value ? value : json_null();
}

static char *write_out(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *expression = malloc((size_t)n + 1);
    cr_assert_not_null(expression);
    vsnprintf(expression, (size_t)n + 1, format, args);
    return expression;
}

static json_t *ask(struct browser *b, const char *format, va_list args)
{
    char *expression = write_out(format, args);
    json_t *value = evaluate(b, b->page, expression);
    free(expression);
    return value;
}

#define ASK(b, format)                                                                                                 \
    va_list args;                                                                                                      \
    va_start(args, format);                                                                                            \
    json_t *value = ask(b, format, args);                                                                              \
    va_end(args)

json_t *browser_value(struct browser *b, const char *format, ...)
{
    ASK(b, format);
    return value;
}

double browser_number(struct browser *b, const char *format, ...)
{
    ASK(b, format);
    cr_assert(json_is_number(value), "%s is no number", format);
    const double number = json_number_value(value);
    json_decref(value);
    return number;
}

bool browser_true(struct browser *b, const char *format, ...)
{
    ASK(b, format);
    cr_assert(json_is_boolean(value), "%s is neither true nor false", format);
    const bool yes = json_is_true(value);
    json_decref(value);
    return yes;
}

char *browser_text(struct browser *b, const char *format, ...)
{
    ASK(b, format);
    cr_assert(json_is_string(value), "%s is no text", format);
    char *text = strdup(json_string_value(value));
    json_decref(value);
    return text;
}

/* What fails while the page is left for another is only not true yet. */
static bool is_true_yet(struct browser *b, const char *expression)
{
    json_t *answer = devtools_try(b->devtools, b->page, "Runtime.evaluate", evaluation(expression));
    const bool yes = json_is_true(json_object_get(json_object_get(answer, "result"), "value"));
    json_decref(answer);
    return yes;
}

void browser_wait(struct browser *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *expression = write_out(format, args);
    va_end(args);
    const time_t begin = time(NULL);
    while (!is_true_yet(b, expression)) {
        cr_assert(time(NULL) - begin < DEVTOOLS_PATIENCE, "never true: %s", expression);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    free(expression);
}

/* The browser tells of a frame only after it has been shown. */
double browser_first_paint(struct browser *b)
{
    json_t *value = browser_value(b, "new Promise(f => { new PerformanceObserver(l => l.getEntriesByName("
                                     "'first-contentful-paint').forEach(e => f(e.startTime)))"
                                     ".observe({type: 'paint', buffered: true}); setTimeout(f, 10000) })");
    const double ms = json_is_number(value) ? json_number_value(value) : (double)NAN;
    json_decref(value);
    return ms;
}

/* --- acting ------------------------------------------------------------------------------------ */

static struct browser_box box_from(json_t *value, const char *selector)
{
    struct browser_box box;
    cr_assert_eq(json_unpack(value, "[F,F,F,F]", &box.x, &box.y, &box.width, &box.height), 0, "nothing is %s",
                 selector);
    json_decref(value);
    return box;
}

struct browser_box browser_box(struct browser *b, const char *selector)
{
    return box_from(browser_value(b,
                                  "(r => r && [r.x + scrollX, r.y + scrollY, r.width, r.height])"
                                  "(document.querySelector(`%s`)?.getBoundingClientRect())",
                                  selector),
                    selector);
}

/* Where on the screen a share of an element is; nothing else may cover it there. */
static struct browser_box aim(struct browser *b, const char *selector, double x, double y)
{
    settle(b);
    json_t *value =
        browser_value(b,
                      "(e => { if (!e) return null;"
                      "e.scrollIntoView({block: 'center', inline: 'nearest', behavior: 'instant'});"
                      "const r = e.getBoundingClientRect(), x = r.x + %.17g * r.width, y = r.y + %.17g * r.height,"
                      "t = document.elementFromPoint(x, y);"
                      "return [x, y, t && (e.contains(t) || t.contains(e)) ? 1 : 0, 0] })"
                      "(document.querySelector(`%s`))",
                      x, y, selector);
    const struct browser_box at = box_from(value, selector);
    cr_assert(at.width > 0, "%s is covered, or out of reach, at %g, %g", selector, at.x, at.y);
    return at;
}

static void mouse(struct browser *b, const char *type, struct browser_box at, const char *button, int buttons)
{
    call(b, "Input.dispatchMouseEvent",
         json_pack("{ss, sf, sf, ss, si, si}", "type", type, "x", at.x, "y", at.y, "button", button, "buttons", buttons,
                   "clickCount", buttons || strcmp(type, "mouseReleased") == 0));
}

void browser_hover_at(struct browser *b, const char *selector, double x, double y)
{
    mouse(b, "mouseMoved", aim(b, selector, x, y), "none", 0);
    settle(b);
}

void browser_hover(struct browser *b, const char *selector)
{
    browser_hover_at(b, selector, 0.5, 0.5);
}

void browser_rest(struct browser *b)
{
    mouse(b, "mouseMoved", (struct browser_box){0, 0, 0, 0}, "none", 0);
    settle(b);
}

void browser_click(struct browser *b, const char *selector)
{
    const struct browser_box at = aim(b, selector, 0.5, 0.5);
    mouse(b, "mouseMoved", at, "none", 0);
    mouse(b, "mousePressed", at, "left", 1);
    mouse(b, "mouseReleased", at, "left", 0);
    settle(b);
}

void browser_tap(struct browser *b, const char *selector)
{
    const struct browser_box at = aim(b, selector, 0.5, 0.5);
    call(b, "Input.dispatchTouchEvent",
         json_pack("{ss, s[{sf, sf}]}", "type", "touchStart", "touchPoints", "x", at.x, "y", at.y));
    call(b, "Input.dispatchTouchEvent", json_pack("{ss, s[]}", "type", "touchEnd", "touchPoints"));
    settle(b);
}

void browser_key(struct browser *b, const char *key)
{
    static const struct {
        const char *key, *text;
        int code;
    } keys[] = {{"Tab", "", 9},        {"Enter", "\r", 13},  {"Escape", "", 27},     {" ", " ", 32},
                {"PageUp", "", 33},    {"PageDown", "", 34}, {"End", "", 35},        {"Home", "", 36},
                {"ArrowLeft", "", 37}, {"ArrowUp", "", 38},  {"ArrowRight", "", 39}, {"ArrowDown", "", 40}};
    const char *text = key;
    int code = key[0];
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i].key, key) == 0) {
            text = keys[i].text;
            code = keys[i].code;
        }
    cr_assert(strlen(text) <= 1, "no key is called %s", key);
    json_t *down = json_pack("{ss, ss, ss, si}", "type", text[0] ? "keyDown" : "rawKeyDown", "key", key, "code",
                             strcmp(key, " ") == 0 ? "Space" : key, "windowsVirtualKeyCode", code);
    if (text[0])
        json_object_set_new(down, "text", json_string(text));
    call(b, "Input.dispatchKeyEvent", down);
    call(b, "Input.dispatchKeyEvent",
         json_pack("{ss, ss, si}", "type", "keyUp", "key", key, "windowsVirtualKeyCode", code));
    settle(b);
}

/* --- looking ----------------------------------------------------------------------------------- */

static uint32_t sextet(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strchr(digits, c);
    return at && c ? (uint32_t)(at - digits) : 0;
}

/* Runs of equal pixels, from base64 of pairs (colour, how many) of four bytes each, lowest first. */
static size_t unroll(uint32_t *pixel, size_t room, const char *text)
{
    size_t n = 0, bytes = 0;
    uint32_t pair[2] = {0, 0};
    for (size_t i = 0; text[i] && text[i] != '='; i += 4) {
        const uint32_t three =
            sextet(text[i]) << 18 | sextet(text[i + 1]) << 12 | sextet(text[i + 2]) << 6 | sextet(text[i + 3]);
        for (int shift = 16; shift >= 0; shift -= 8, bytes++) {
            pair[bytes / 4 % 2] |= (three >> shift & 255) << bytes % 4 * 8;
            if (bytes % 8 != 7)
                continue;
            for (uint32_t k = 0; k < pair[1] && n < room; k++)
                pixel[n++] = pair[0];
            pair[0] = pair[1] = 0;
        }
    }
    return n;
}

/* The browser itself decodes its screenshot, on a page of its own: nothing about the page under test changes. */
void browser_picture(struct browser *b, struct browser_picture *picture, struct browser_box box)
{
    static const char decode[] =
        "(async base64 => {"
        "const bytes = Uint8Array.from(atob(base64), c => c.charCodeAt(0));"
        "const image = await createImageBitmap(new Blob([bytes], {type: 'image/png'}));"
        "const c = new OffscreenCanvas(image.width, image.height).getContext('2d');"
        "c.drawImage(image, 0, 0);"
        "const p = new Uint32Array(c.getImageData(0, 0, image.width, image.height).data.buffer), pairs = [];"
        "for (let i = 0, j; i < p.length; i = j) {"
        "for (j = i; j < p.length && p[j] === p[i]; j++); pairs.push(p[i], j - i) }"
        "const out = new Uint8Array(new Uint32Array(pairs).buffer); let s = '';"
        "for (let i = 0; i < out.length; i += 8192) s += String.fromCharCode(...out.subarray(i, i + 8192));"
        "return [image.width, image.height, btoa(s)] })('%s')";
    /* One pixel for one of CSS, whatever the device has. */
    const double ratio = browser_number(b, "devicePixelRatio");
    json_t *shot =
        devtools_call(b->devtools, b->page, "Page.captureScreenshot",
                      json_pack("{ss, sb, s{sf, sf, sf, sf, sf}}", "format", "png", "captureBeyondViewport", 1, "clip",
                                "x", box.x, "y", box.y, "width", box.width, "height", box.height, "scale", 1 / ratio));
    const size_t size = strlen(word(shot, "data")) + sizeof decode;
    char *expression = malloc(size);
    cr_assert_not_null(expression);
    snprintf(expression, size, decode, word(shot, "data"));
    json_t *decoded = evaluate(b, b->workshop, expression);
    json_int_t width, height;
    const char *runs;
    cr_assert_eq(json_unpack(decoded, "[I,I,s]", &width, &height, &runs), 0);
    picture->width = (size_t)width;
    picture->height = (size_t)height;
    picture->pixel = calloc(picture->width * picture->height, sizeof *picture->pixel);
    cr_assert_not_null(picture->pixel);
    cr_assert_eq(unroll(picture->pixel, picture->width * picture->height, runs), picture->width * picture->height);
    free(expression);
    json_decref(decoded);
    json_decref(shot);
}

void browser_picture_free(struct browser_picture *picture)
{
    free(picture->pixel);
    *picture = (struct browser_picture){0};
}
