/* Temperature sensors out of the files of /sys/class/hwmon (kernel document Documentation/hwmon/sysfs-interface.rst):
 * temp*_input in thousandths of a degree Celsius, temp*_label and name as text. */
#ifndef SENSORS_H
#define SENSORS_H

#include <gpud.h>

/* One sensor. */
typedef struct {
    const char *chip;   /* Name of the chip's driver; with a number where there are several: nvme, nvme.2. */
    const char *name;   /* Its label, or else its file's name: temp1. */
    const char *key;    /* Both: nvme/Composite. What the configuration calls it. */
    const char *path;   /* The file. */
    bool readable;      /* value is known: the file could be read and is a plausible temperature. */
    double value;       /* Degrees Celsius. */
} sensor;

/* All sensors. Files come in any order; those that belong to no sensor are left out. */
size_t sensors_find(const gpud_file *inputs, size_t input_count, const gpud_file *labels, size_t label_count,
                    const gpud_file *names, size_t name_count, sensor **sensors);

#endif
