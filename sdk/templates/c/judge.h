/* The decision: pure functions of what was read. */
#ifndef JUDGE_H
#define JUDGE_H

#include <gpud.h>

/* What an operator can configure, as JSON schema. gpud refuses what does not fit. */
extern const char SCHEMA[];

/* The verdict over the files of fans, each with a number of revolutions per minute. */
void judge(const gpud_context *context, double min_rpm, const gpud_file *fans, size_t count, gpud_report *report);

#endif
