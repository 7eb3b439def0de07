/* Any bytes as what a killed process left: the log, and after it the trace file, if there is more.
 */
#include <stdlib.h>
#include <string.h>

#include "reading.h"
#include "trace/log.h"

static uint64_t sealed_again(uint64_t word, uint64_t limit, uint64_t *value) {
    rf_unseal(word, value);
    if (*value > limit)
        *value = limit;
    return rf_seal(word);
}

static void repair(struct rf_log *log) {
    uint64_t unused, modules, names, sites;
    log->check = rf_log_fixed_check(log);
    log->begun = sealed_again(log->begun, UINT64_MAX, &unused);
    log->written = sealed_again(log->written, UINT64_MAX, &unused);
    log->end = sealed_again(log->end, UINT64_MAX, &unused);
    log->site_count = sealed_again(log->site_count, RF_MAX_SITES, &sites);
    log->module_count = sealed_again(log->module_count, RF_LOG_MODULES, &modules);
    log->name_count = sealed_again(log->name_count, RF_LOG_NAMES, &names);
    if (log->incomplete)
        log->incomplete = rf_seal(1ull << 32 | rf_log_reason_check(log->reason));
    log->flight_check = rf_log_flight_check(log);
    for (uint32_t i = 0; i < modules; i++)
        log->modules[i].check = rf_log_module_check(&log->modules[i], i);
    for (uint32_t i = 0; i < names; i++)
        log->names[i].check = rf_log_name_check(&log->names[i], i);
    for (uint32_t i = 0; i < sites; i++)
        log->sites[i].check = rf_log_site_check(&log->sites[i], i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct rf_log log;
    size_t first = bytes < sizeof log ? bytes : sizeof log;
    memset(&log, 0, sizeof log);
    if (first)
        memcpy(&log, data, first);
    repair(&log);
    /* What is shorter than a head stays so. */
    reading_set_log((const uint8_t *)&log,
                    first < offsetof(struct rf_log, modules) ? first : sizeof log);
    size_t rest = bytes - first;
    uint8_t *copy = malloc(rest + 1);
    if (!copy)
        abort();
    if (rest)
        memcpy(copy, data + first, rest);
    reading_repair_trace(copy, rest);
    reading_set_trace(rest ? copy : NULL, rest);
    free(copy);
    reading_all();
    return 0;
}
