/* What a component has of <stdlib.h>; src/memory.c has the functions. */
#ifndef GPUD_STDLIB_H
#define GPUD_STDLIB_H
#include <stddef.h>
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
/* Does nothing: a component's memory is thrown away after the call. */
void free(void *block);
_Noreturn void abort(void);
#endif
