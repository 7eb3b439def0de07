/* Writes small valid traces as a start for the fuzzer: one file for each kind of stream, ended and
   killed. Usage: make-corpus DIRECTORY */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/trace_streams.h"
#include "trace/log.h"

static void copy(FILE *to, const char *path, size_t most) {
    FILE *from = fopen(path, "rb");
    if (!from)
        return;
    for (int byte; most-- && (byte = fgetc(from)) != EOF;)
        fputc(byte, to);
    fclose(from);
}

static void make(const char *directory, const struct stream *stream, bool killed) {
    struct rf_recorder recorder;
    struct rf_node node;
    struct rf_error error;
    struct stream_state state = {0};
    char trace[4096], tail[4096], name[4096];
    stream_node(&node);
    snprintf(trace, sizeof trace, "%s/rank-0.trace", directory);
    snprintf(tail, sizeof tail, "%s/rank-0.tail", directory);
    snprintf(name, sizeof name, "%s/%s-%s", directory, stream->name, killed ? "killed" : "ended");
    if (!rf_recorder_open(&recorder, directory, &node, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    stream_sites(&recorder, 31);
    for (int i = 0; i < 100; i++)
        stream->round(&recorder, &state);
    FILE *file = fopen(name, "wb");
    if (!file)
        exit(1);
    if (killed) {
        copy(file, trace, SIZE_MAX);
        fputs("==TAIL==", file);
        /* The whole head is needed for the ring to be reached. */
        copy(file, tail, offsetof(struct rf_log, ring) + 4096);
    }
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    if (!killed)
        copy(file, trace, SIZE_MAX);
    fclose(file);
    unlink(trace);
}

int main(int count, char **arguments) {
    if (count != 2)
        return 120;
    for (size_t i = 0; i < stream_count; i++) {
        make(arguments[1], &streams[i], false);
        if (i < 2)
            make(arguments[1], &streams[i], true);
    }
    return 0;
}
