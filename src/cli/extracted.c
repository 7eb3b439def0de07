#include "extracted.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"
#include "trace/contents.h"
#include "trace/holes.h"

/* A file of a rank in the trace's directory; free() it. */
static char *file_of(const char *directory, int rank, const char *ending) {
    return rf_text("%s/rank-%d.%s", directory, rank, ending);
}

static bool size_of(const char *directory, int rank, const char *ending, uint64_t *bytes) {
    struct stat facts;
    char *path = file_of(directory, rank, ending);
    bool there = stat(path, &facts) == 0;
    *bytes = there ? rf_bytes_on_disk(&facts) : 0;
    free(path);
    return there;
}

static bool move(const char *directory, int rank, const char *from, const char *to) {
    char *source = file_of(directory, rank, from), *target = file_of(directory, rank, to);
    bool moved = rename(source, target) == 0;
    free(source);
    free(target);
    return moved;
}

static void take_away(const char *directory, int rank, const char *ending) {
    char *path = file_of(directory, rank, ending);
    unlink(path);
    free(path);
}

uint64_t rf_extracted_bytes(const char *directory, int rank) {
    uint64_t contents, tail, start;
    size_of(directory, rank, "contents.tail", &tail);
    return size_of(directory, rank, "contents", &contents) &&
                   size_of(directory, rank, "start", &start)
               ? contents + tail + start
               : 0;
}

bool rf_kept_whole(const char *directory, int rank, const char *kind, bool *incomplete,
                   struct rf_error *error) {
    static uint8_t bytes[1 << 16];
    char *path = file_of(directory, rank, kind);
    *incomplete = false;
    struct rf_contents_reader *reader = rf_contents_open(path, error);
    free(path);
    /* A piece that goes beyond the end is not taken; smaller ones are. */
    for (size_t size = sizeof bytes; reader && size > 0; size /= 2)
        while (rf_contents_get(reader, bytes, size))
            continue;
    if (reader) {
        *error = *rf_contents_reader_error(reader);
        *incomplete = rf_contents_incomplete(reader);
        rf_contents_reader_close(reader);
    }
    return !error->text[0];
}

bool rf_extracted_whole(const char *directory, int rank, struct rf_error *error) {
    bool incomplete;
    return rf_kept_whole(directory, rank, "contents", &incomplete, error);
}

static void take_new_away(const char *directory, int rank) {
    take_away(directory, rank, "contents.new");
    take_away(directory, rank, "contents.new.tail");
}

void rf_extracted_set_aside(const char *directory, int rank) {
    /* A command that was killed may have left some. */
    uint64_t bytes;
    take_new_away(directory, rank);
    if (!size_of(directory, rank, "start.old", &bytes))
        move(directory, rank, "start", "start.old");
}

bool rf_extracted_accept(const char *directory, int rank) {
    uint64_t bytes;
    if (!size_of(directory, rank, "contents.new", &bytes) ||
        !size_of(directory, rank, "start", &bytes)) {
        rf_extracted_reject(directory, rank);
        return false;
    }
    take_away(directory, rank, "contents.tail");
    move(directory, rank, "contents.new", "contents");
    move(directory, rank, "contents.new.tail", "contents.tail");
    char *tail = file_of(directory, rank, "contents.tail");
    rf_dig_holes(tail);
    free(tail);
    take_away(directory, rank, "start.old");
    return true;
}

void rf_extracted_reject(const char *directory, int rank) {
    take_new_away(directory, rank);
    /* The start of a rank without contents is of no use. */
    if (!move(directory, rank, "start.old", "start"))
        take_away(directory, rank, "start");
}
