/* Memory and the few functions of the C library that a component needs.
 *
 * An instance is thrown away after its call, so memory is handed out in a row and never taken back. The first 64 KiB
 * are part of the module's initial memory: a small check never grows it, which would cost the host a change of page
 * protections. Nothing is handed out twice, so all of it is zero at first; and one byte more than asked for is set
 * aside, so that whatever the host writes into it ends in a zero. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gpud.h"

enum {
    FIRST = 64 * 1024,       /* Bytes that are there from the beginning. */
    PAGE = 64 * 1024,        /* Of WebAssembly. */
    GROWTH = 4,              /* Least pages to grow by. */
    ALIGN = 16,
    HEADER = 16,             /* The block's size stands before it, for realloc. */
};

static _Alignas(ALIGN) unsigned char first[FIRST];
static unsigned char *next = first;
static unsigned char *end = first + FIRST;

_Noreturn void abort(void) { __builtin_trap(); }

static _Noreturn void exhausted(void) {
    gpud_log(GPUD_LOG_ERROR, "out of memory");
    abort();
}

void *gpud_alloc(size_t size) {
    if (size > SIZE_MAX / 2) exhausted();
    size_t whole = (size + 1 + HEADER + (ALIGN - 1)) & ~(size_t)(ALIGN - 1);
    if (whole > (size_t)(end - next)) {
        size_t pages = (whole + PAGE - 1) / PAGE;
        if (pages < GROWTH) pages = GROWTH;
        size_t old = __builtin_wasm_memory_grow(0, pages);
        if (old == SIZE_MAX) {
            /* Room for the last words. */
            end = first + FIRST;
            next = first;
            exhausted();
        }
        unsigned char *grown = (unsigned char *)(old * PAGE);
        /* Growth that follows what is there makes it longer; anything else starts a new block. */
        if (grown != end) next = grown;
        end = grown + pages * PAGE;
    }
    unsigned char *block = next + HEADER;
    *(size_t *)(void *)next = size;
    next += whole;
    return block;
}

void *malloc(size_t size) { return gpud_alloc(size); }

void *calloc(size_t count, size_t size) {
    size_t whole;
    if (__builtin_mul_overflow(count, size, &whole)) exhausted();
    return gpud_alloc(whole);
}

void *realloc(void *block, size_t size) {
    if (block == NULL) return gpud_alloc(size);
    size_t old = *(size_t *)(void *)((unsigned char *)block - HEADER);
    if (size <= old) return block;
    void *room = gpud_alloc(size);
    memcpy(room, block, old);
    return room;
}

void free(void *block) { (void)block; }

/* The loops below must not be turned into calls of the functions that they are. */
#define PLAIN __attribute__((no_builtin, noinline))

PLAIN void *memcpy(void *restrict to, const void *restrict from, size_t length) {
    unsigned char *out = to;
    const unsigned char *in = from;
    while (length-- > 0) *out++ = *in++;
    return to;
}

PLAIN void *memmove(void *to, const void *from, size_t length) {
    unsigned char *out = to;
    const unsigned char *in = from;
    if ((uintptr_t)out - (uintptr_t)in >= length) return memcpy(to, from, length);
    while (length-- > 0) out[length] = in[length];
    return to;
}

PLAIN void *memset(void *to, int byte, size_t length) {
    unsigned char *out = to;
    while (length-- > 0) *out++ = (unsigned char)byte;
    return to;
}

PLAIN void *memchr(const void *in, int byte, size_t length) {
    for (const unsigned char *at = in; length-- > 0; at++)
        if (*at == (unsigned char)byte) return (void *)at;
    return NULL;
}

PLAIN int memcmp(const void *a, const void *b, size_t length) {
    const unsigned char *left = a, *right = b;
    for (; length > 0; length--, left++, right++)
        if (*left != *right) return *left - *right;
    return 0;
}

PLAIN size_t strlen(const char *text) {
    size_t length = 0;
    while (text[length] != 0) length++;
    return length;
}

PLAIN int strncmp(const char *a, const char *b, size_t most) {
    for (; most > 0; most--, a++, b++) {
        if (*a != *b) return (unsigned char)*a - (unsigned char)*b;
        if (*a == 0) return 0;
    }
    return 0;
}

PLAIN int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

PLAIN char *strchr(const char *in, int byte) {
    for (;; in++) {
        if (*in == (char)byte) return (char *)in;
        if (*in == 0) return NULL;
    }
}

PLAIN char *strrchr(const char *in, int byte) {
    const char *found = NULL;
    for (;; in++) {
        if (*in == (char)byte) found = in;
        if (*in == 0) return (char *)found;
    }
}

PLAIN char *strstr(const char *in, const char *part) {
    size_t length = strlen(part);
    for (; *in != 0; in++)
        if (strncmp(in, part, length) == 0) return (char *)in;
    return length == 0 ? (char *)in : NULL;
}
