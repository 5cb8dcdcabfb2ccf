/* What a component has of <string.h>; src/memory.c has the functions. */
#ifndef GPUD_STRING_H
#define GPUD_STRING_H
#include <stddef.h>
void *memcpy(void *restrict to, const void *restrict from, size_t length);
void *memmove(void *to, const void *from, size_t length);
void *memset(void *to, int byte, size_t length);
void *memchr(const void *in, int byte, size_t length);
int memcmp(const void *a, const void *b, size_t length);
size_t strlen(const char *text);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t most);
char *strchr(const char *in, int byte);
char *strrchr(const char *in, int byte);
char *strstr(const char *in, const char *part);
#endif
