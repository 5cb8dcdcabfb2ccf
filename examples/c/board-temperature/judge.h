/* The verdict, from plain values. */
#ifndef JUDGE_H
#define JUDGE_H

#include "sensors.h"

/* JSON Schema of the configuration. */
extern const char SCHEMA[];

/* Degrees Celsius. */
typedef struct {
    double warn;     /* From here on Degraded. */
    double critical; /* From here on Unhealthy. */
} limits;

/* What the operator configured. */
typedef struct {
    limits all;                /* Of every sensor that has none of its own. */
    const gpud_json *sensors;  /* Limits of its own by key, or NULL. */
} config;

/* Reads the document. */
gpud_error config_read(const char *document, config *out);

/* Judges readings. `before` is what the last check gave back (empty at first): sensors that were too hot then. */
const char *judge(const gpud_context *context, const config *config, const sensor *sensors, size_t count,
                  const char *before, gpud_report *report);

#endif
