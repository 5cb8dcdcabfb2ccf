/* What the SDK's own files share. */
#ifndef GPUD_INTERNAL_H
#define GPUD_INTERNAL_H

#include "gpud.h"

/* Length of the UTF-8 character at `at`, of which `left` bytes are there; 0 when it is none. */
size_t gpud_utf8_length(const unsigned char *at, size_t left);

#endif
