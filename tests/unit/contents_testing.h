/* What the tests of contents share: a plan of what is put, so that every put can be checked when it
   comes back, and a place for the files. */
#ifndef RF_TESTS_CONTENTS_TESTING_H
#define RF_TESTS_CONTENTS_TESTING_H

#include "trace_testing.h"

#include "trace/contents_format.h"

#define CHUNK ((size_t)RF_CONTENTS_CHUNK)

/* The i-th put follows from the plan and i alone. */
struct contents_plan {
    uint64_t seed;
    size_t largest;
    uint64_t count;
};

struct contents_put {
    bool block;
    size_t size;
    uint64_t content; /* even: compressible */
};

struct contents_fixture {
    char directory[256], path[512], tail_path[512];
    uint8_t *file, *tail; /* as they are on disk, in the damage tests */
    size_t file_bytes, tail_bytes;
};

/* zstd cannot be loaded. */
extern bool contents_without_zstd;

struct contents_put contents_put_of(const struct contents_plan *plan, uint64_t i);
void contents_fill(uint8_t *data, const struct contents_put *put);
void contents_put_one(struct rf_contents_writer *writer, const struct contents_plan *plan,
                      uint64_t i, uint8_t *room);
/* Reads until the reader ends, comparing; returns how many puts came back. Puts of nothing leave no
   trace: at the end they do not count. */
uint64_t contents_compare(const char *path, const struct contents_plan *plan,
                          struct rf_error *error);
void contents_expect_whole(const char *path, const struct contents_plan *plan);

void contents_begin(struct contents_fixture *fixture);
void contents_finish(struct contents_fixture *fixture);
struct rf_contents_writer *contents_create(const struct contents_fixture *fixture);
void contents_close(struct rf_contents_writer *writer);
size_t contents_bytes(const char *path);

#endif
