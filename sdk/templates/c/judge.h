/* The decision: pure functions of what was read. */
#ifndef JUDGE_H
#define JUDGE_H

#include <gpud.h>

/* What an operator can configure, as JSON schema. gpud refuses what does not fit. */
extern const char SCHEMA[];

/* The verdict over the content of /proc/meminfo; less available memory than min_percent of all is too little. */
void judge(const gpud_context *context, double min_percent, const char *meminfo, gpud_report *report);

#endif
