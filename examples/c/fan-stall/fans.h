/* Fans out of the files of /sys/class/hwmon, and what is remembered of them from check to check. */
#ifndef FANS_H
#define FANS_H

#include <gpud.h>

/* One fan that can be read. */
typedef struct {
    const char *chip;   /* Folder and driver: hwmon2/nct6775. Driver names alone are not unique. */
    const char *key;    /* hwmon2/nct6775/fan1; what the configuration calls it. */
    const char *path;   /* The file. */
    int64_t rpm;        /* Revolutions per minute, not negative. */
} fan;

/* What is known of a fan from earlier checks. */
typedef struct {
    const char *key;
    int64_t still;      /* Checks in a row at which it stood while a neighbour turned. */
} known_fan;

/* Fans in the order of the files. Readings that are no number, negative or above a million are left out. */
size_t fans_find(const gpud_file *inputs, size_t input_count, const gpud_file *names, size_t name_count, fan **fans);

/* Fans that turned at an earlier check of this boot: lines "still key" after a line with the boot id. */
size_t fans_restore(const char *saved, const char *boot_id, known_fan **known);
const char *fans_save(const char *boot_id, const known_fan *known, size_t count);

#endif
