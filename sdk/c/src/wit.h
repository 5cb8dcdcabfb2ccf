/* Between gpud.h's types and those of the contract. */
#ifndef GPUD_WIT_INTERNAL_H
#define GPUD_WIT_INTERNAL_H

#include "gpud_wit.h"
#include "internal.h"

/* A text for the host, which takes UTF-8 alone; NULL becomes the empty text. */
gpud_wit_string_t gpud_to_wit(const char *text);
/* A text from the host. */
const char *gpud_from_wit(gpud_wit_string_t text);
/* Bytes from the host. */
gpud_text gpud_bytes_from_wit(gpud_wit_list_u8_t bytes);
/* An error from the host. */
gpud_error gpud_error_from_wit(const gpud_plugin_types_access_error_t *error);
/* Asks the host with `call`, which takes &failed for the error; the function that it stands in gives the error on. */
#define ANSWER(call)                                      \
    do {                                                  \
        gpud_plugin_types_access_error_t failed;          \
        if (!(call)) return gpud_error_from_wit(&failed); \
    } while (0)
/* Messages from the host. */
gpud_messages gpud_messages_from_wit(const gpud_plugin_kmsg_message_t *from, size_t count);

#endif
