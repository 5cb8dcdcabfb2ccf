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
/* Messages from the host. */
gpud_messages gpud_messages_from_wit(const gpud_plugin_kmsg_message_t *from, size_t count);

#endif
