/* A reader of JSON (RFC 8259) for configuration documents. */
#include <string.h>

#include "gpud.h"

enum { MAX_DEPTH = 32 };

typedef struct {
    const char *at; /* Ends in a zero, which is no part of any value. */
} reader;

static bool value(reader *r, gpud_json *out, int depth);

static void spaces(reader *r) {
    while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r') r->at++;
}

static bool literal(reader *r, const char *word) {
    size_t length = strlen(word);
    if (strncmp(r->at, word, length) != 0) return false;
    r->at += length;
    return true;
}

static int hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static long unit(reader *r) {
    long sum = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex(*r->at);
        if (digit < 0) return -1;
        sum = sum * 16 + digit;
        r->at++;
    }
    return sum;
}

/* Writes a character of \uXXXX (the text after the u) as UTF-8; gives where the next one goes, or NULL. */
static char *escaped(reader *r, char *out) {
    long code = unit(r);
    if (code >= 0xd800 && code < 0xdc00) {
        if (r->at[0] != '\\' || r->at[1] != 'u') return NULL;
        r->at += 2;
        long low = unit(r);
        if (low < 0xdc00 || low > 0xdfff) return NULL;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code <= 0 || (code >= 0xdc00 && code <= 0xdfff)) {
        return NULL;
    }
    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    return out;
}

static const char *string(reader *r) {
    if (*r->at != '"') return NULL;
    const char *end = r->at + 1;
    while (*end != 0 && *end != '"') end += end[0] == '\\' && end[1] != 0 ? 2 : 1;
    if (*end == 0) return NULL;
    /* An escape is never shorter than what it stands for. */
    char *start = gpud_alloc((size_t)(end - r->at)), *out = start;
    for (r->at++; *r->at != '"';) {
        if ((unsigned char)*r->at < 0x20) return NULL;
        if (*r->at != '\\') {
            *out++ = *r->at++;
            continue;
        }
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        char letter = r->at[1];
        r->at += 2;
        const char *known = letter ? strchr(from, letter) : NULL;
        if (known) {
            *out++ = to[known - from];
        } else if (letter != 'u' || (out = escaped(r, out)) == NULL) {
            return NULL;
        }
    }
    r->at++;
    return start;
}

static bool digit(char c) { return c >= '0' && c <= '9'; }

static bool number(reader *r, double *out) {
    bool negative = *r->at == '-';
    if (negative) r->at++;
    if (!digit(*r->at) || (*r->at == '0' && digit(r->at[1]))) return false;
    double sum = 0;
    int exponent = 0;
    for (; digit(*r->at); r->at++) sum = sum * 10 + (*r->at - '0');
    if (*r->at == '.') {
        r->at++;
        if (!digit(*r->at)) return false;
        /* Digits beyond what a double holds would make the divisor overflow. */
        for (; digit(*r->at); r->at++)
            if (exponent > -40) sum = sum * 10 + (*r->at - '0'), exponent--;
    }
    if (*r->at == 'e' || *r->at == 'E') {
        r->at++;
        bool down = *r->at == '-';
        if (down || *r->at == '+') r->at++;
        if (!digit(*r->at)) return false;
        int given = 0;
        for (; digit(*r->at); r->at++)
            if (given < 1000) given = given * 10 + (*r->at - '0');
        exponent += down ? -given : given;
    }
    double scale = 1;
    /* Beyond 308 the scale is infinite: a number too large is refused below, one too small is 0. */
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--) scale *= 10;
    if (sum != 0) sum = exponent < 0 ? sum / scale : sum * scale;
    if (sum - sum != 0) return false;
    *out = negative ? -sum : sum;
    return true;
}

static bool list(reader *r, gpud_json *out, int depth, char close) {
    gpud_json *items = NULL;
    const char **keys = NULL;
    size_t room = 0, key_room = 0;
    r->at++;
    spaces(r);
    if (*r->at == close) {
        r->at++;
        return true;
    }
    for (;;) {
        items = gpud_grow(items, out->count, &room, sizeof *items);
        if (close == '}') {
            keys = gpud_grow(keys, out->count, &key_room, sizeof *keys);
            spaces(r);
            keys[out->count] = string(r);
            if (keys[out->count] == NULL) return false;
            spaces(r);
            if (*r->at++ != ':') return false;
        }
        if (!value(r, &items[out->count], depth + 1)) return false;
        out->count++;
        spaces(r);
        char next = *r->at;
        if (next != ',' && next != close) return false;
        r->at++;
        if (next == close) break;
    }
    out->items = items;
    out->keys = keys;
    return true;
}

static bool value(reader *r, gpud_json *out, int depth) {
    *out = (gpud_json){.kind = GPUD_JSON_NULL};
    if (depth >= MAX_DEPTH) return false;
    spaces(r);
    switch (*r->at) {
    case '{': out->kind = GPUD_JSON_OBJECT; return list(r, out, depth, '}');
    case '[': out->kind = GPUD_JSON_ARRAY; return list(r, out, depth, ']');
    case '"':
        out->kind = GPUD_JSON_STRING;
        out->string = string(r);
        return out->string != NULL;
    case 't':
    case 'f':
        out->kind = GPUD_JSON_BOOL;
        out->boolean = *r->at == 't';
        return literal(r, out->boolean ? "true" : "false");
    case 'n': return literal(r, "null");
    default: out->kind = GPUD_JSON_NUMBER; return number(r, &out->number);
    }
}

const gpud_json *gpud_json_parse(const char *document) {
    reader r = {document};
    gpud_json *out = gpud_alloc(sizeof *out);
    if (!value(&r, out, 0)) return NULL;
    spaces(&r);
    return *r.at == 0 ? out : NULL;
}

const gpud_json *gpud_json_get(const gpud_json *object, const char *key) {
    if (object == NULL || object->kind != GPUD_JSON_OBJECT) return NULL;
    for (size_t i = object->count; i > 0; i--)
        if (strcmp(object->keys[i - 1], key) == 0) return &object->items[i - 1];
    return NULL;
}

double gpud_json_number(const gpud_json *object, const char *key, double otherwise) {
    const gpud_json *found = gpud_json_get(object, key);
    return found && found->kind == GPUD_JSON_NUMBER ? found->number : otherwise;
}

const char *gpud_json_string(const gpud_json *object, const char *key, const char *otherwise) {
    const gpud_json *found = gpud_json_get(object, key);
    return found && found->kind == GPUD_JSON_STRING ? found->string : otherwise;
}

bool gpud_json_bool(const gpud_json *object, const char *key, bool otherwise) {
    const gpud_json *found = gpud_json_get(object, key);
    return found && found->kind == GPUD_JSON_BOOL ? found->boolean : otherwise;
}
