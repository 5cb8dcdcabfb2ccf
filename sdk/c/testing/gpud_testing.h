/* A machine made of plain values, for native unit tests of a checker.
 *
 *     gpud_test_begin();
 *     gpud_test_file("/sys/class/hwmon/hwmon0/name", "nvme\n");
 *     gpud_test_config("{\"warn\": 70}");
 *     gpud_report *report = gpud_test_check();
 *     GPUD_EXPECT(report->states[0]->health == GPUD_HEALTHY);
 *     gpud_test_end();
 *
 * Values of gpud_state_set stay from one check to the next until gpud_test_begin. Anything that a test did not give
 * answers GPUD_NOT_FOUND. GPUs: gpud_testing_gpus.h.
 */
#ifndef GPUD_TESTING_H
#define GPUD_TESTING_H

#include "gpud_report.h"
#include "gpud_testing_gpus.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An empty machine, at 2026-01-01T00:00:00Z, on the boot "boot-1". */
void gpud_test_begin(void);
/* Frees everything that was given since gpud_test_begin. */
void gpud_test_end(void);

/* A file with this content. Folders above it are there as well. Replaces what was at this path. */
void gpud_test_file(const char *path, const char *content);
/* The same, with zeros in the content. */
void gpud_test_bytes(const char *path, const void *content, size_t length);
/* A symbolic link. */
void gpud_test_link(const char *path, const char *target);
/* Whatever asks for this path gets this error; `what` becomes the path. Code GPUD_OK takes the error away again. */
void gpud_test_file_error(const char *path, gpud_code code);
/* Removes a file, link or error. */
void gpud_test_remove(const char *path);
/* A mounted filesystem. */
void gpud_test_filesystem(const char *path, gpud_fs_usage usage);
/* The configuration document. */
void gpud_test_config(const char *document);
/* What a program gives; arguments do not count. */
void gpud_test_program(const char *program, gpud_output output);
/* What gpud_run_bash gives. */
void gpud_test_bash(gpud_output output);
/* A message of the kernel log, for gpud_kmsg_read_back, which gives all of them whatever the patterns are. */
void gpud_test_kmsg(gpud_message message);
/* What an HTTP GET of this path gives. */
void gpud_test_http(const char *path, uint16_t status, const char *body);
/* A boot, for gpud_reboots. Give the newest first. */
void gpud_test_reboot(gpud_millis time);
/* A capability answers GPUD_DENIED: sysfs, state, exec, kmsg, history, net or nvml. */
void gpud_test_deny(const char *capability);
/* The context of the next check; change it as you like. */
gpud_context *gpud_test_context(void);

/* Runs gpud_check. An error is kept for gpud_test_error, and the report is empty then. Values of gpud_state_set are kept
 * only without an error. */
gpud_report *gpud_test_check(void);
/* The error of the last check; GPUD_OK without one. */
gpud_error gpud_test_error(void);
/* What gpud_describe says. */
gpud_descriptor *gpud_test_describe(void);
/* Log lines so far, each with its end of line. */
const char *gpud_test_log(void);

/* The value of a metric with this name and, if not NULL, this value of any label; NaN when there is none. */
double gpud_test_metric(const gpud_report *report, const char *name, const char *label_value);

/* Counts a check that must hold; says where and what when it does not. */
#define GPUD_EXPECT(condition) gpud_test_expect((condition), #condition, __FILE__, __LINE__)
/* The same for two texts. */
#define GPUD_EXPECT_TEXT(found, wanted) gpud_test_expect_text((found), (wanted), __FILE__, __LINE__)
bool gpud_test_expect(bool holds, const char *condition, const char *file, int line);
bool gpud_test_expect_text(const char *found, const char *wanted, const char *file, int line);
/* Says how many checks held ("N passed, N failed"), and gives what main has to return. */
int gpud_test_summary(void);

#ifdef __cplusplus
}
#endif
#endif
