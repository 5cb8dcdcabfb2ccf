/* Text and numbers. No function here trusts what comes from outside. */
#include <stdarg.h>
#include <string.h>

#include "internal.h"

/* A text that grows. */
typedef struct {
    char *data;
    size_t length, capacity;
} buffer;

static void put(buffer *out, const char *data, size_t length) {
    if (out->capacity - out->length < length + 1) {
        size_t wanted = (out->length + length + 1) * 2;
        char *room = gpud_alloc(wanted);
        if (out->length > 0) memcpy(room, out->data, out->length);
        out->data = room;
        out->capacity = wanted;
    }
    if (length > 0) memcpy(out->data + out->length, data, length);
    out->length += length;
}

static void put_padded(buffer *out, const char *data, size_t length, size_t width, char fill) {
    if (fill == '0' && width > length && length > 0 && data[0] == '-') {
        put(out, data++, 1);
        length--;
        width--;
    }
    for (; width > length; width--) put(out, &fill, 1);
    put(out, data, length);
}

/* Writes digits so that they end before `end`; gives where they begin. */
static char *digits(char *end, unsigned long long value, unsigned base) {
    do *--end = "0123456789abcdef"[value % base];
    while ((value /= base) > 0);
    return end;
}

static void put_double(buffer *out, double value, unsigned places) {
    if (value != value) {
        put(out, "nan", 3);
        return;
    }
    if (value < 0) {
        put(out, "-", 1);
        value = -value;
    }
    if (value >= 1e18) {
        put(out, value - value == 0 ? "more than 1e18" : "inf", value - value == 0 ? 14 : 3);
        return;
    }
    if (places > 9) places = 9;
    unsigned long long scale = 1;
    for (unsigned i = 0; i < places; i++) scale *= 10;
    unsigned long long whole = (unsigned long long)value;
    unsigned long long part = (unsigned long long)((value - (double)whole) * (double)scale + 0.5);
    if (part >= scale) {
        whole++;
        part -= scale;
    }
    char room[24], *end = room + sizeof room, *start = digits(end, whole, 10);
    put(out, start, (size_t)(end - start));
    if (places == 0) return;
    put(out, ".", 1);
    start = digits(end, part, 10);
    put_padded(out, start, (size_t)(end - start), places, '0');
}

static void put_integer(buffer *out, bool negative, unsigned long long value, unsigned base, size_t width, char fill) {
    char room[24], *end = room + sizeof room, *start = digits(end, value, base);
    if (negative) *--start = '-';
    put_padded(out, start, (size_t)(end - start), width, fill);
}

/* Length of a text, looking at no more than `most` bytes; a cut does not fall into the middle of a UTF-8 character. */
static size_t text_length(const char *text, size_t most) {
    size_t length = 0;
    while (length < most && text[length] != 0) length++;
    if (length == most && length > 0 && (text[length] & 0xc0) == 0x80)
        while (length > 0 && (text[length] & 0xc0) == 0x80) length--;
    return length;
}

const char *gpud_format(const char *format, ...) {
    buffer out = {0};
    va_list arguments;
    va_start(arguments, format);
    for (const char *at = format; *at != 0;) {
        const char *percent = at;
        while (*at != 0 && *at != '%') at++;
        put(&out, percent, (size_t)(at - percent));
        if (*at == 0) break;
        percent = at++;
        char fill = ' ';
        size_t width = 0;
        if (*at == '0') {
            fill = '0';
            at++;
        }
        while (*at >= '0' && *at <= '9' && width < 1000) width = width * 10 + (size_t)(*at++ - '0');
        bool has_places = *at == '.';
        size_t places = 0;
        if (has_places) {
            at++;
            if (*at == '*') {
                int given = va_arg(arguments, int);
                has_places = given >= 0;
                places = given >= 0 ? (size_t)given : 0;
                at++;
            } else {
                while (*at >= '0' && *at <= '9' && places < 100000) places = places * 10 + (size_t)(*at++ - '0');
            }
        }
        int longs = 0;
        for (; *at == 'l' || *at == 'z'; at++) longs += *at == 'z' ? 3 : 1;
        switch (*at) {
        case '%': put(&out, "%", 1); break;
        case 'c': {
            char one = (char)va_arg(arguments, int);
            put(&out, &one, 1);
            break;
        }
        case 's': {
            const char *text = va_arg(arguments, const char *);
            if (text == NULL) text = "(null)";
            put_padded(&out, text, has_places ? text_length(text, places) : strlen(text), width, ' ');
            break;
        }
        case 'd':
        case 'i': {
            long long value = longs == 3   ? (long long)va_arg(arguments, ptrdiff_t)
                              : longs == 2 ? va_arg(arguments, long long)
                              : longs == 1 ? va_arg(arguments, long)
                                           : va_arg(arguments, int);
            put_integer(&out, value < 0, value < 0 ? 0ULL - (unsigned long long)value : (unsigned long long)value, 10,
                        width, fill);
            break;
        }
        case 'u':
        case 'x': {
            unsigned long long value = longs == 3   ? va_arg(arguments, size_t)
                                       : longs == 2 ? va_arg(arguments, unsigned long long)
                                       : longs == 1 ? va_arg(arguments, unsigned long)
                                                    : va_arg(arguments, unsigned);
            put_integer(&out, false, value, *at == 'x' ? 16 : 10, width, fill);
            break;
        }
        case 'f': put_double(&out, va_arg(arguments, double), has_places ? (unsigned)places : 6); break;
        default:
            /* Not known: as it stands. The rest cannot be formatted, since the size of this argument is not known. */
            put(&out, percent, strlen(percent));
            va_end(arguments);
            put(&out, "", 1);
            return out.data;
        }
        at++;
    }
    va_end(arguments);
    put(&out, "", 1);
    return out.data;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

size_t gpud_utf8_length(const unsigned char *at, size_t left) {
    unsigned char first = at[0];
    size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : (first & 0xf0) == 0xe0 ? 3
                    : first >= 0xf0 && first < 0xf5                 ? 4
                                                                    : 0;
    if (length == 0 || length > left) return 0;
    for (size_t i = 1; i < length; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    /* Overlong, surrogate, beyond U+10FFFF. */
    if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f) || (first == 0xf0 && at[1] < 0x90) ||
        (first == 0xf4 && at[1] > 0x8f))
        return 0;
    return length;
}

const char *gpud_trimmed(gpud_text text) {
    const char *start = text.data;
    size_t length = start ? text.length : 0;
    while (length > 0 && (is_space(start[0]) || start[0] == 0)) start++, length--;
    while (length > 0 && (is_space(start[length - 1]) || start[length - 1] == 0)) length--;
    char *out = gpud_alloc(length + 1);
    for (size_t i = 0; i < length;) {
        size_t one = gpud_utf8_length((const unsigned char *)start + i, length - i);
        if (one == 0 || start[i] == 0) {
            out[i++] = '?';
        } else {
            memcpy(out + i, start + i, one);
            i += one;
        }
    }
    return out;
}

bool gpud_parse_integer(const char *text, int64_t *value) {
    while (is_space(*text)) text++;
    bool negative = *text == '-';
    if (negative || *text == '+') text++;
    if (*text < '0' || *text > '9') return false;
    uint64_t sum = 0, most = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    for (; *text >= '0' && *text <= '9'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');
        if (sum > (most - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    while (is_space(*text)) text++;
    if (*text != 0) return false;
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

const char *gpud_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *gpud_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? gpud_format("%.*s", (int)(slash - path), path) : "";
}
