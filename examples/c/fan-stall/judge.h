/* The verdict, from plain values. */
#ifndef JUDGE_H
#define JUDGE_H

#include "fans.h"

/* JSON Schema of the configuration. */
extern const char SCHEMA[];

/* What the operator configured. */
typedef struct {
    int64_t checks;          /* Checks in a row after which a standing fan is a finding, 1 to 100. */
    const gpud_json *ignore; /* Array of keys that are not judged, or NULL. */
} config;

/* Reads the document. */
gpud_error config_read(const char *document, config *out);

/* Judges readings. `known` are fans that turned before; the answer is what is known now. */
size_t judge(const gpud_context *context, const config *config, const fan *fans, size_t count, const known_fan *known,
             size_t known_count, known_fan **now, gpud_report *report);

#endif
