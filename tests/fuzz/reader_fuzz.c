/* Any bytes as a trace: the reader must end, stay inside its memory, and never trust a size. The
   input is the trace file; what follows a marker is the start of the log. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/log.h"
#include "trace/reader.h"

static const char marker[8] = "==TAIL==";
static char directory[64];

static void save(const char *name, const uint8_t *data, size_t bytes, off_t grow) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes || (grow && ftruncate(file, grow)))
        abort();
    close(file);
}

static void remove_file(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
}

static void clean(void) {
    remove_file("rank-0.trace");
    remove_file("rank-0.tail");
    rmdir(directory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!directory[0]) {
        snprintf(directory, sizeof directory, "%s/refrain-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
        if (!mkdtemp(directory))
            abort();
        atexit(clean);
    }
    const uint8_t *split = memmem(data, bytes, marker, sizeof marker);
    save("rank-0.trace", data, split ? (size_t)(split - data) : bytes, 0);
    if (split) {
        /* The file has its full length, whatever the input gives of it. */
        const uint8_t *rest = split + sizeof marker;
        size_t left = (size_t)(data + bytes - rest);
        save("rank-0.tail", rest, left, sizeof(struct rf_log));
    } else {
        remove_file("rank-0.tail");
    }
    struct rf_error error;
    struct rf_reader *reader = rf_reader_open(directory, 0, &error);
    if (!reader)
        return 0;
    struct rf_event event;
    uint64_t sum = 0;
    while (rf_reader_next(reader, &event, &error) == RF_READ_EVENT) {
        for (uint32_t i = 0; i < event.list_length; i++)
            sum += (uint32_t)event.list[i];
        const struct rf_site *site = rf_reader_site(reader, event.site);
        if (site)
            sum += strlen(site->function) + (rf_reader_module(reader, site->module) != NULL);
    }
    for (size_t i = 0; rf_reader_unsupported(reader, i); i++)
        sum += strlen(rf_reader_unsupported(reader, i));
    sum += strlen(rf_reader_ending(reader)->reason) + strlen(rf_reader_node(reader)->library);
    rf_reader_close(reader);
    return sum == UINT64_MAX ? -1 : 0;
}
