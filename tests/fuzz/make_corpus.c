/* Writes small valid traces as a start for the fuzzers, one for each kind of stream:
   DIRECTORY/trace holds trace files of runs that ended, DIRECTORY/log the logs of killed runs, each
   followed by its trace file; DIRECTORY/threads has blocks of a log of threads, and records and
   chunks of a sealed one, each behind four bytes for threads_fuzz.c. Usage: make-corpus DIRECTORY
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../unit/thread_log_sample.h"
#include "../unit/trace_streams.h"

static void copy(const char *to, const char *path) {
    FILE *target = fopen(to, "ab"), *from = fopen(path, "rb");
    if (!target || !from)
        exit(1);
    for (int byte; (byte = fgetc(from)) != EOF;)
        fputc(byte, target);
    fclose(from);
    fclose(target);
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
    snprintf(name, sizeof name, "%s/%s/%s", directory, killed ? "log" : "trace", stream->name);
    if (!rf_recorder_open(&recorder, directory, &node, &error)) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    stream_sites(&recorder, 31);
    rf_recorder_unsupported(&recorder, "MPI_Get");
    /* Short segments: some matches come so late that they have events of their own. */
    for (int i = 0; i < 100; i++) {
        stream->round(&recorder, &state);
        if (i % 30 == 29)
            rf_recorder_next_segment(&recorder);
    }
    if (killed) {
        copy(name, tail);
        copy(name, trace);
    }
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    if (!killed)
        copy(name, trace);
    unlink(trace);
}

/* A file, without the head and the tables. */
static void save_threads(const char *directory, uint8_t sealed, const uint8_t *bytes, size_t size) {
    const uint8_t how[4] = {4, 1, sealed, 0};
    char name[4096];
    snprintf(name, sizeof name, "%s/threads/%s", directory, sealed ? "sealed" : "killed");
    FILE *file = fopen(name, "wb");
    if (!file || fwrite(how, sizeof how, 1, file) != 1 || fwrite(bytes, size, 1, file) != 1 ||
        fclose(file))
        exit(1);
}

static void make_threads(const char *directory) {
    static struct sample sample;
    static uint8_t sealed[sizeof sample];
    const struct rf_thread_log_head *head = &sample.head;
    char path[4096];
    sample_open(&sample, 0);
    sample_fill(&sample);
    save_threads(directory, 0, sample.blocks[0], sample_bytes(&sample) - sizeof sample.head);
    snprintf(path, sizeof path, "%s/rank-0.threads", directory);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(&sample, sample_bytes(&sample), 1, file) != 1 || fclose(file))
        exit(1);
    rf_thread_log_seal(directory, 0);
    file = fopen(path, "rb");
    size_t size = file ? fread(sealed, 1, sizeof sealed, file) : 0;
    size_t front = RF_THREAD_LOG_FRONT + head->modules * sizeof *head->module +
                   head->sites * sizeof *head->site;
    if (size <= front || fclose(file) || unlink(path))
        exit(1);
    save_threads(directory, 1, sealed + front, size - front);
}

int main(int count, char **arguments) {
    char path[4096];
    if (count != 2)
        return 120;
    for (int killed = 0; killed < 2; killed++) {
        snprintf(path, sizeof path, "%s/%s", arguments[1], killed ? "log" : "trace");
        if (mkdir(path, 0700))
            return 1;
        for (size_t i = 0; i < stream_count; i++)
            make(arguments[1], &streams[i], killed);
    }
    snprintf(path, sizeof path, "%s/threads", arguments[1]);
    if (mkdir(path, 0700))
        return 1;
    make_threads(arguments[1]);
    return 0;
}
