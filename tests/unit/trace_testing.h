/* What the tests of the trace layer share: a place for files, and a mirror of what is recorded. */
#ifndef RF_TESTS_TRACE_TESTING_H
#define RF_TESTS_TRACE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/reader.h"
#include "trace/recorder.h"

/* A fresh directory; removed with its files by testing_clean(). */
const char *testing_directory(void);
void testing_clean(const char *directory);
void testing_path(char *path, size_t room, const char *directory, const char *name);
/* Whole files in memory; free() the result. */
uint8_t *testing_load(const char *path, size_t *bytes);
void testing_save(const char *path, const void *data, size_t bytes);
/* Changes one byte of a file. */
void testing_poke(const char *path, size_t at, uint8_t byte);
void testing_open(struct rf_recorder *recorder, const char *directory);
/* Runs a part in a process of its own; returns the status it ends with, and what it said on
   standard error. */
int testing_apart(void (*part)(void *data), void *data, char *said, size_t room);

/* Keeps what the reader must give back. */
struct mirror_event {
    uint32_t what;
    int32_t first, second;
    uint64_t run;
    int32_t *list;
    uint32_t length;
};
struct mirror {
    struct rf_recorder *recorder;
    struct mirror_event *events;
    size_t count, room;
};
void mirror_fold(struct mirror *mirror, uint32_t what, int32_t first, int32_t second);
void mirror_list(struct mirror *mirror, uint32_t what, int32_t first, int32_t second,
                 const int32_t *list, uint32_t length);
/* Returns the place of the post in the mirror. */
size_t mirror_post(struct mirror *mirror, uint32_t what, struct rf_post *post);
void mirror_match(struct mirror *mirror, size_t place, const struct rf_post *post, int32_t source,
                  int32_t tag);
/* Reads everything and compares; the reader must say `last` at the end. Returns how many events
   of the mirror were seen. */
size_t mirror_compare(const struct mirror *mirror, struct rf_reader *reader, enum rf_read last);
void mirror_free(struct mirror *mirror);

#endif
