#include "manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "environment.h"
#include "location.h"
#include "text.h"
#include "utf8.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static json_t *environment_of(char *const *variables) {
    json_t *object = json_object();
    for (size_t i = 0; variables[i]; i++) {
        const char *equals = strchr(variables[i], '=');
        if (!equals || !rf_environment_matters(variables[i]))
            continue;
        char *name = rf_text("%.*s", (int)(equals - variables[i]), variables[i]);
        json_object_set_new(object, name, rf_utf8_json(equals + 1));
        free(name);
    }
    return object;
}

json_t *rf_manifest_new(char *const *command, const char *mpi, const char *scheme) {
    json_t *words = json_array();
    for (size_t i = 0; command[i]; i++)
        json_array_append_new(words, rf_utf8_json(command[i]));
    char *directory = getcwd(NULL, 0);
    char started[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &parts);

    json_t *manifest = json_object();
    json_object_set_new(manifest, "format", json_integer(RF_MANIFEST_FORMAT));
    json_object_set_new(manifest, "refrain", json_string(REFRAIN_VERSION));
    json_object_set_new(manifest, "state", json_string("recording"));
    json_object_set_new(manifest, "command", words);
    json_object_set_new(manifest, "directory", rf_utf8_json(directory ? directory : "."));
    json_object_set_new(manifest, "environment", environment_of(environ));
    json_object_set_new(manifest, "mpi", json_pack("{s:s}", "name", mpi));
    json_object_set_new(manifest, "scheme", json_string(scheme));
    json_object_set_new(manifest, "started", json_string(started));
    free(directory);
    return manifest;
}

/* Of all members but itself, without spaces and in the order of their names; free() it. */
static char *digest_of(const json_t *manifest) {
    json_t *others = json_copy((json_t *)manifest);
    json_object_del(others, "digest");
    char *text = json_dumps(others, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(others);
    if (!text)
        return rf_copy("");
    char *digest = rf_text("%016llx", (unsigned long long)XXH64(text, strlen(text), 0));
    free(text);
    return digest;
}

/* One without it was made, or changed, by hand. */
static bool fits(const json_t *manifest) {
    const json_t *recorded = json_object_get(manifest, "digest");
    char *digest = digest_of(manifest);
    bool same =
        !recorded || (json_is_string(recorded) && !strcmp(json_string_value(recorded), digest));
    free(digest);
    return same;
}

bool rf_manifest_save(json_t *manifest, const char *directory, struct rf_error *error) {
    char *digest = digest_of(manifest);
    json_object_set_new(manifest, "digest", json_string(digest));
    free(digest);
    char *final = rf_text("%s/manifest.json", directory);
    char *fresh = rf_text("%s/manifest.json.new", directory);
    FILE *file = fopen(fresh, "we");
    bool good = file && json_dumpf(manifest, file, JSON_INDENT(2)) == 0 && fputc('\n', file) >= 0;
    if (file) {
        good = fflush(file) == 0 && fsync(fileno(file)) == 0 && good;
        good = fclose(file) == 0 && good;
    }
    good = good && rename(fresh, final) == 0;
    if (!good) {
        rf_fail(error, RF_EXIT_ENVIRONMENT, "cannot write %s: %s", final, strerror(errno));
        unlink(fresh);
    }
    free(final);
    free(fresh);
    return good;
}

static bool valid(const json_t *manifest) {
    static const char *const texts[] = {"refrain", "state", "directory", "scheme", "started"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (!json_is_string(json_object_get(manifest, texts[i])))
            return false;
    const json_t *command = json_object_get(manifest, "command");
    size_t i;
    const json_t *word;
    json_array_foreach(command, i, word) if (!json_is_string(word)) return false;
    return json_array_size(command) > 0 &&
           json_is_object(json_object_get(manifest, "environment")) &&
           json_is_string(json_object_get(json_object_get(manifest, "mpi"), "name"));
}

static long long format_of(const json_t *manifest) {
    return json_integer_value(json_object_get(manifest, "format"));
}

/* What is wrong with what was read; NULL: nothing. */
static const char *damage_of(const json_t *manifest) {
    if (!json_is_object(manifest))
        return "it is no object";
    if (!json_is_integer(json_object_get(manifest, "format")))
        return "it has no format";
    /* What other versions have in theirs is not known. */
    if (format_of(manifest) != RF_MANIFEST_FORMAT)
        return NULL;
    if (!valid(manifest))
        return "a member is missing or of the wrong type";
    return fits(manifest) ? NULL : "its members do not fit its digest";
}

json_t *rf_manifest_load(const char *directory, bool *damaged, struct rf_error *error) {
    char *path = rf_text("%s/manifest.json", directory);
    json_error_t cause;
    json_t *manifest = NULL;
    const char *damage = NULL;
    bool other = false;
    FILE *file = fopen(path, "re");
    if (!file) {
        rf_fail(error, RF_EXIT_TRACE,
                "%s: not a trace: it has no manifest.json that can be read (%s)", directory,
                strerror(errno));
        rf_hint(error, "refrain ls");
    } else if (!(manifest = json_loadf(file, 0, &cause))) {
        damage = cause.text;
        rf_fail(error, RF_EXIT_TRACE, "%s is damaged: line %d: %s", path, cause.line, damage);
    } else if ((damage = damage_of(manifest))) {
        rf_fail(error, RF_EXIT_TRACE, "%s is damaged: %s", path, damage);
    } else if ((other = format_of(manifest) != RF_MANIFEST_FORMAT)) {
        rf_fail(error, RF_EXIT_TRACE,
                "%s: format %lld is of another version of Refrain; this one reads format %d", path,
                format_of(manifest), RF_MANIFEST_FORMAT);
        rf_hint(error, "refrain --version");
    }
    if (damage) {
        char *named = rf_named(rf_shown_path(directory));
        rf_hint(error, "refrain check%s", named);
        free(named);
    }
    if (damage || other) {
        json_decref(manifest);
        manifest = NULL;
    }
    if (damaged)
        *damaged = damage != NULL;
    if (file)
        fclose(file);
    free(path);
    return manifest;
}

const char *rf_manifest_text(const json_t *manifest, const char *name) {
    const char *text = json_string_value(json_object_get(manifest, name));
    return text ? text : "";
}

const char *rf_manifest_mpi(const json_t *manifest) {
    const char *text = json_string_value(json_object_get(json_object_get(manifest, "mpi"), "name"));
    return text ? text : "";
}

char **rf_manifest_command(const json_t *manifest) {
    const json_t *words = json_object_get(manifest, "command");
    size_t count = json_array_size(words);
    char **command = rf_allocate(count + 1, sizeof *command);
    for (size_t i = 0; i < count; i++)
        command[i] = rf_utf8_bytes(json_string_value(json_array_get(words, i)));
    return command;
}

void rf_manifest_free_command(char **command) {
    for (size_t i = 0; command && command[i]; i++)
        free(command[i]);
    free(command);
}

char *rf_manifest_directory(const json_t *manifest) {
    return rf_utf8_bytes(rf_manifest_text(manifest, "directory"));
}

bool rf_manifest_complete(const json_t *manifest) {
    return strcmp(rf_manifest_text(manifest, "state"), "complete") == 0;
}

const char *rf_manifest_check(const json_t *manifest) {
    return json_string_value(json_object_get(manifest, "check"));
}

const char *rf_manifest_order(const json_t *manifest) {
    return json_string_value(json_object_get(manifest, "threads"));
}

const char *rf_manifest_values(const json_t *manifest) {
    return json_string_value(json_object_get(manifest, "values"));
}

bool rf_manifest_same_addresses(const json_t *manifest) {
    return json_object_get(manifest, "threads") || rf_manifest_values(manifest);
}
