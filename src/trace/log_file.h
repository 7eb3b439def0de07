/* Reading what a killed or running process left in its log. */
#ifndef RF_TRACE_LOG_FILE_H
#define RF_TRACE_LOG_FILE_H

#include "error.h"
#include "log.h"
#include "reader.h"

struct rf_log_file {
    char path[4096];
    bool exists;
    uint64_t bytes, on_disk; /* a log that is done has holes */
    struct rf_log *log;      /* a private copy; NULL when there is none to be trusted */
    uint64_t begun, written;
};

/* Copies the log. False when it exists and is damaged. */
bool rf_log_file_open(struct rf_log_file *file, struct rf_error *error);
void rf_log_file_close(struct rf_log_file *file);
/* How the recording ended, as far as the log knows. */
bool rf_log_file_ending(const struct rf_log_file *file, struct rf_ending *ending, size_t site_count,
                        struct rf_error *error);
/* How many slots of a segment lie inside the file. */
uint32_t rf_log_file_slots(const struct rf_log_file *file, uint64_t segment);

#endif
