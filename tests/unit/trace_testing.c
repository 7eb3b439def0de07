#include "trace_testing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace_streams.h"

static char place[256];

const char *testing_directory(void) {
    const char *base = getenv("TMPDIR");
    snprintf(place, sizeof place, "%s/refrain-unit-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(place));
    return place;
}

void testing_path(char *path, size_t room, const char *directory, const char *name) {
    assert_true((size_t)snprintf(path, room, "%s/%s", directory, name) < room);
}

void testing_clean(const char *directory) {
    DIR *folder = opendir(directory);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[1024];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        unlink(path);
    }
    closedir(folder);
    rmdir(directory);
}

uint8_t *testing_load(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = aligned_alloc(4096, (*bytes | 4095) + 1); /* a log needs its alignment */
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

void testing_save(const char *path, const void *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(file >= 0);
    assert_true(write(file, data, bytes) == (ssize_t)bytes);
    close(file);
}

void testing_poke(const char *path, size_t at, uint8_t byte) {
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
    close(file);
}

void testing_open(struct rf_recorder *recorder, const char *directory) {
    struct rf_node node;
    struct rf_error error = {0};
    stream_node(&node);
    if (!rf_recorder_open(recorder, directory, &node, &error))
        fail_msg("%s", error.text);
    stream_sites(recorder, 31);
}

int testing_apart(void (*part)(void *data), void *data, char *said, size_t room) {
    int ends[2], status = 0;
    size_t length = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        part(data);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], said + length, room - 1 - length)) > 0;)
        length += (size_t)got;
    said[length] = 0;
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static struct mirror_event *add(struct mirror *mirror) {
    if (mirror->count == mirror->room) {
        mirror->room = mirror->room ? mirror->room * 2 : 1024;
        mirror->events = realloc(mirror->events, mirror->room * sizeof *mirror->events);
        assert_non_null(mirror->events);
    }
    struct mirror_event *event = &mirror->events[mirror->count++];
    memset(event, 0, sizeof *event);
    return event;
}

static void append(struct mirror *mirror, uint32_t what, int32_t first, int32_t second,
                   uint64_t run) {
    struct mirror_event *last = mirror->count ? &mirror->events[mirror->count - 1] : NULL;
    if (rf_kind_flags[rf_packed_kind(what)] & RF_REPEATS && last && last->what == what &&
        last->first == first && last->second == second) {
        last->run += run;
        return;
    }
    struct mirror_event *event = add(mirror);
    event->what = what;
    event->first = first;
    event->second = second;
    event->run = run;
}

void mirror_fold(struct mirror *mirror, uint32_t what, int32_t first, int32_t second) {
    rf_recorder_fold(mirror->recorder, what, first, second);
    append(mirror, what, first, second, 1);
}

void mirror_list(struct mirror *mirror, uint32_t what, int32_t first, int32_t second,
                 const int32_t *list, uint32_t length) {
    rf_recorder_list(mirror->recorder, what, first, second, list, length);
    append(mirror, what, first, second, 1);
    struct mirror_event *event = &mirror->events[mirror->count - 1];
    event->length = length;
    event->list = malloc((length + 1) * sizeof *list);
    assert_non_null(event->list);
    if (length)
        memcpy(event->list, list, length * sizeof *list);
}

size_t mirror_post(struct mirror *mirror, uint32_t what, struct rf_post *post) {
    rf_recorder_post(mirror->recorder, what, post);
    append(mirror, what, RF_UNKNOWN, rf_packed_kind(what) == RF_CANCEL ? 0 : RF_UNKNOWN, 1);
    return mirror->count - 1;
}

void mirror_match(struct mirror *mirror, size_t at, const struct rf_post *post, int32_t source,
                  int32_t tag) {
    if (rf_packed_kind(mirror->events[at].what) == RF_CANCEL)
        tag = 0;
    rf_recorder_match(mirror->recorder, post, source, tag);
    mirror->events[at].first = source;
    mirror->events[at].second = tag;
}

size_t mirror_compare(const struct mirror *mirror, struct rf_reader *reader, enum rf_read last) {
    struct mirror seen = {0};
    struct rf_event event;
    struct rf_error error = {0};
    enum rf_read read;
    uint64_t number = 0;
    while ((read = rf_reader_next(reader, &event, &error)) == RF_READ_EVENT) {
        assert_true(event.number == number);
        if (rf_is_decision(event.kind))
            number += event.run;
        if (event.kind == RF_LATE) {
            assert_true(event.back > 0);
            continue;
        }
        append(&seen, rf_pack(event.kind, event.channel, event.site), event.first, event.second,
               event.run);
        const struct mirror_event *now = &seen.events[seen.count - 1];
        assert_true(seen.count <= mirror->count);
        const struct mirror_event *wanted = &mirror->events[seen.count - 1];
        assert_int_equal(now->what, wanted->what);
        assert_int_equal(now->first, wanted->first);
        assert_int_equal(now->second, wanted->second);
        assert_true(now->run <= wanted->run);
        assert_int_equal(event.list_length, wanted->length);
        if (event.list_length)
            assert_memory_equal(event.list, wanted->list, wanted->length * sizeof *wanted->list);
        if (seen.count > 1)
            assert_true(seen.events[seen.count - 2].run == mirror->events[seen.count - 2].run);
    }
    if (read != last)
        fail_msg("read %d instead of %d: %s", read, last, error.text);
    if (last == RF_READ_END) {
        assert_true(seen.count == mirror->count);
        if (seen.count)
            assert_true(seen.events[seen.count - 1].run == mirror->events[seen.count - 1].run);
    } else {
        assert_int_equal(error.code, RF_EXIT_TRACE);
        assert_non_null(strstr(error.text, "rank-0."));
        assert_non_null(strstr(error.text, "byte"));
    }
    size_t count = seen.count;
    free(seen.events);
    return count;
}

void mirror_free(struct mirror *mirror) {
    for (size_t i = 0; i < mirror->count; i++)
        free(mirror->events[i].list);
    free(mirror->events);
    memset(mirror, 0, sizeof *mirror);
}
