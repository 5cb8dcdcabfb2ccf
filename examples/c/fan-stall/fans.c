#include "fans.h"

#include <string.h>

enum {
    MAX_FANS = 512,      /* Of a machine. */
    MAX_KEY = 128,       /* Bytes. */
    MAX_RPM = 1000000,   /* More is no reading. */
};

static const char *driver_of(const gpud_file *names, size_t count, const char *folder) {
    const char *path = gpud_format("%s/name", folder);
    for (size_t i = 0; i < count; i++) {
        if (names[i].error.code || strcmp(names[i].path, path) != 0) continue;
        const char *name = gpud_trimmed(names[i].content);
        /* A line break would break the lines in which fans are remembered. */
        if (*name != 0 && strlen(name) <= 64 && strchr(name, '\n') == NULL) return name;
    }
    return "unknown";
}

size_t fans_find(const gpud_file *inputs, size_t input_count, const gpud_file *names, size_t name_count, fan **fans) {
    fan *found = gpud_alloc((input_count + 1) * sizeof *found);
    size_t count = 0;
    for (size_t i = 0; i < input_count && count < MAX_FANS; i++) {
        int64_t rpm;
        if (inputs[i].error.code || !gpud_parse_integer(gpud_trimmed(inputs[i].content), &rpm)) continue;
        if (rpm < 0 || rpm > MAX_RPM) continue;
        const char *folder = gpud_folder(inputs[i].path), *file = gpud_base_name(inputs[i].path);
        size_t length = strlen(file);
        if (length <= 6 || strcmp(file + length - 6, "_input") != 0) continue;
        fan *one = &found[count];
        one->chip = gpud_format("%s/%s", gpud_base_name(folder), driver_of(names, name_count, folder));
        one->key = gpud_format("%s/%.*s", one->chip, (int)(length - 6), file);
        one->path = inputs[i].path;
        one->rpm = rpm;
        if (strlen(one->key) <= MAX_KEY) count++;
    }
    *fans = found;
    return count;
}

size_t fans_restore(const char *saved, const char *boot_id, known_fan **known) {
    known_fan *list = gpud_alloc(MAX_FANS * sizeof *list);
    size_t count = 0, length = strlen(boot_id);
    *known = list;
    /* Of another boot, in which fans may have been plugged elsewhere. */
    if (strncmp(saved, boot_id, length) != 0 || saved[length] != '\n') return 0;
    for (const char *line = saved + length + 1; *line != 0 && count < MAX_FANS;) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        const char *space = memchr(line, ' ', size);
        if (space != NULL && size - (size_t)(space - line) - 1 <= MAX_KEY &&
            gpud_parse_integer(gpud_format("%.*s", (int)(space - line), line), &list[count].still) &&
            list[count].still >= 0) {
            list[count].key = gpud_format("%.*s", (int)(size - (size_t)(space - line) - 1), space + 1);
            count++;
        }
        line = end ? end + 1 : line + size;
    }
    return count;
}

const char *fans_save(const char *boot_id, const known_fan *known, size_t count) {
    const char *text = gpud_format("%s\n", boot_id);
    for (size_t i = 0; i < count; i++) text = gpud_format("%s%lld %s\n", text, (long long)known[i].still, known[i].key);
    return text;
}
