/* Not a test: prints size and speed of the streams in trace_streams.c. Run it with a directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "trace/codec.h"
#include "trace/log.h"
#include "trace/reader.h"
#include "trace_streams.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Coding and decoding of one segment, over and over. */
static void codec_speed(const struct stream *stream, const char *directory) {
    struct rf_recorder recorder;
    struct rf_node node;
    struct rf_error error;
    struct stream_state state = {0};
    stream_node(&node);
    if (!rf_recorder_open(&recorder, directory, &node, &error)) {
        printf("%s\n", error.text);
        exit(1);
    }
    stream_sites(&recorder, 31);
    struct rf_entry *slots = recorder.next;
    unsigned messages = 0;
    while (recorder.segment == 0)
        messages += stream->round(&recorder, &state);
    uint32_t used = rf_segment_used(slots), entries = 0;
    rf_segment_tidy(slots, used);
    for (uint32_t at = 0; at < used; at += rf_entry_slots(&slots[at], used - at))
        entries++;
    struct rf_codec *codec = calloc(1, rf_codec_bytes());
    struct rf_codec *decoder = calloc(1, rf_codec_bytes());
    struct rf_entry *copy = calloc(RF_SEGMENT_SLOTS, sizeof *copy);
    struct rf_coded coded;
    const int times = 20;
    double start = now();
    bool good = true;
    for (int i = 0; i < times; i++)
        good = rf_codec_encode(codec, slots, used, &coded);
    double encode = (now() - start) / times;
    uint8_t *payload = malloc(coded.bytes), *at = payload;
    printf("%-12s", stream->name);
    for (unsigned i = 0; i < RF_CODED_PIECES; i++) {
        memcpy(at, coded.pieces[i].data, coded.pieces[i].bytes);
        at += coded.pieces[i].bytes;
    }
    start = now();
    for (int i = 0; i < times; i++)
        good = good && rf_codec_decode(decoder, payload, coded.bytes, copy, used);
    double decode = (now() - start) / times;
    good = good && !memcmp(copy, slots, used * sizeof *copy);
    printf(
        "%s %6u entries %7zu bytes %.4f/entry %.4f/message, encode %5.1f M/s decode %5.1f M/s  (",
        good ? "" : "FAILED", entries, coded.bytes, (double)coded.bytes / entries,
        (double)coded.bytes / messages, entries / encode * 1e-6, entries / decode * 1e-6);
    for (unsigned i = 0; i < RF_CODED_PIECES; i++)
        printf(" %zu", coded.pieces[i].bytes);
    printf(" )\n");
    free(codec);
    free(decoder);
    free(copy);
    free(payload);
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    char path[4200];
    snprintf(path, sizeof path, "%s/rank-0.trace", directory);
    unlink(path);
}

static long resident(void) {
    long total = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &total, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return pages * 4;
}

static void run_speed(const struct stream *stream, const char *directory, uint64_t rounds) {
    struct rf_recorder recorder;
    struct rf_node node;
    struct rf_error error;
    struct stream_state state = {0};
    stream_node(&node);
    long before = resident();
    if (!rf_recorder_open(&recorder, directory, &node, &error))
        exit(1);
    stream_sites(&recorder, 31);
    double start = now();
    uint64_t messages = 0;
    for (uint64_t i = 0; i < rounds; i++)
        messages += stream->round(&recorder, &state);
    double append = now() - start;
    long after = resident();
    rf_recorder_close(&recorder, RF_END_FINALIZE, 0);
    double total = now() - start;
    struct rf_reader *reader = rf_reader_open(directory, 0, &error);
    if (!reader) {
        printf("%s\n", error.text);
        exit(1);
    }
    struct rf_event event;
    enum rf_read read;
    uint64_t entries = 0, events = 0;
    start = now();
    while ((read = rf_reader_next(reader, &event, &error)) == RF_READ_EVENT) {
        entries++;
        events = event.number + event.run;
    }
    double reading = now() - start;
    printf("%-12s %s %lu entries %lu events %lu bytes %.4f/entry %.4f/message; append %.1f ns/entry"
           " total %.1f; read %.1f ns; +%ld KiB (total %ld)\n",
           stream->name, read == RF_READ_END ? "" : "DAMAGED", entries, events,
           rf_reader_bytes(reader), (double)rf_reader_bytes(reader) / (double)entries,
           (double)rf_reader_bytes(reader) / (double)messages, append / (double)entries * 1e9,
           total / (double)entries * 1e9, reading / (double)entries * 1e9, after - before,
           resident());
    rf_reader_close(reader);
    char path[4200];
    snprintf(path, sizeof path, "%s/rank-0.trace", directory);
    unlink(path);
}

int main(int count, char **arguments) {
    const char *directory = count > 1 ? arguments[1] : ".";
    uint64_t rounds = count > 2 ? strtoull(arguments[2], NULL, 10) : 1000000;
    for (size_t i = 0; i < stream_count; i++)
        codec_speed(&streams[i], directory);
    for (size_t i = 0; i < stream_count; i++)
        run_speed(&streams[i], directory, rounds);
    return 0;
}
