#include "sensors.h"

#include <string.h>

enum {
    MAX_NAME = 64, /* Longest label or driver name that is used, bytes. */
    MAX_SENSORS = 1024,
};

/* A chip that does not answer shows 0 (as a negative overflow -128) or all bits set (127 or 255). */
static const double COLDEST = -50, HOTTEST = 126;

/* The number in a name such as hwmon12, or a large one. */
static int64_t number_in(const char *name) {
    int64_t number;
    while (*name != 0 && (*name < '0' || *name > '9')) name++;
    const char *end = name;
    while (*end >= '0' && *end <= '9') end++;
    return gpud_parse_integer(gpud_format("%.*s", (int)(end - name), name), &number) ? number : INT64_MAX;
}

/* By number, since hwmon10 comes before hwmon2 otherwise. */
static int order(const char *a, const char *b) {
    int64_t left = number_in(gpud_base_name(gpud_folder(a))), right = number_in(gpud_base_name(gpud_folder(b)));
    if (left == right) left = number_in(gpud_base_name(a)), right = number_in(gpud_base_name(b));
    return left < right ? -1 : left > right ? 1 : strcmp(a, b);
}

static bool is_one_line(const char *text) {
    for (; *text != 0; text++)
        if ((unsigned char)*text < 0x20) return false;
    return true;
}

/* Text of a file with this path, or NULL when it is not there, not readable, empty, too long or more than a line. */
static const char *text_of(const gpud_file *files, size_t count, const char *path) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(files[i].path, path) != 0) continue;
        const char *text = gpud_trimmed(files[i].content);
        size_t length = strlen(text);
        return files[i].error.code || length == 0 || length > MAX_NAME || !is_one_line(text) ? NULL : text;
    }
    return NULL;
}

/* How many chips of this driver come before this one. */
static size_t namesakes(const sensor *found, size_t count, const char *driver, const char *folder) {
    size_t before = 0;
    const char *last = "";
    for (size_t i = 0; i < count; i++) {
        const char *other = gpud_folder(found[i].path);
        if (strcmp(found[i].name, driver) == 0 && strcmp(other, folder) != 0 && strcmp(other, last) != 0) {
            before++;
            last = other;
        }
    }
    return before;
}

static bool same_key(const sensor *found, size_t count, const char *key) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(found[i].key, key) == 0) return true;
    return false;
}

size_t sensors_find(const gpud_file *inputs, size_t input_count, const gpud_file *labels, size_t label_count,
                    const gpud_file *names, size_t name_count, sensor **sensors) {
    const gpud_file **files = gpud_alloc((input_count + 1) * sizeof *files);
    size_t count = 0;
    for (size_t i = 0; i < input_count && count < MAX_SENSORS; i++) {
        const char *base = gpud_base_name(inputs[i].path);
        size_t length = strlen(base);
        if (strncmp(base, "temp", 4) != 0 || length <= 10 || strcmp(base + length - 6, "_input") != 0) continue;
        /* Insertion: a machine has a few dozen of them, and they come nearly in order. */
        size_t at = count++;
        for (; at > 0 && order(files[at - 1]->path, inputs[i].path) > 0; at--) files[at] = files[at - 1];
        files[at] = &inputs[i];
    }
    sensor *found = gpud_alloc((count + 1) * sizeof *found);
    /* First the drivers: `name` holds it until all are known. */
    for (size_t i = 0; i < count; i++) {
        const char *folder = gpud_folder(files[i]->path);
        const char *driver = text_of(names, name_count, gpud_format("%s/name", folder));
        found[i].path = files[i]->path;
        found[i].name = driver ? driver : "unknown";
        size_t before = namesakes(found, i, found[i].name, folder);
        found[i].chip = before ? gpud_format("%s.%zu", found[i].name, before + 1) : found[i].name;
    }
    for (size_t i = 0; i < count; i++) {
        const char *base = gpud_base_name(files[i]->path);
        const char *file = gpud_format("%.*s", (int)(strlen(base) - 6), base);
        const char *label = text_of(labels, label_count, gpud_format("%s/%s_label", gpud_folder(files[i]->path), file));
        found[i].name = label ? label : file;
        found[i].key = gpud_format("%s/%s", found[i].chip, found[i].name);
        if (same_key(found, i, found[i].key)) {
            found[i].name = gpud_format("%s (%s)", found[i].name, file);
            found[i].key = gpud_format("%s/%s", found[i].chip, found[i].name);
        }
        int64_t thousandths;
        found[i].readable = files[i]->error.code == GPUD_OK &&
                            gpud_parse_integer(gpud_trimmed(files[i]->content), &thousandths);
        found[i].value = found[i].readable ? (double)thousandths / 1000 : 0;
        found[i].readable = found[i].readable && found[i].value > COLDEST && found[i].value < HOTTEST;
    }
    *sensors = found;
    return count;
}
