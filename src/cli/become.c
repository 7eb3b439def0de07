#include "become.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "detect.h"
#include "install.h"
#include "manifest.h"
#include "messages.h"
#include "start.h"
#include "text.h"
#include "trace/thread_reader.h"

/* gdb may have run the rank before: its counts, and what it records again, begin anew. */
static void forget_run(const char *run, const char *rank) {
    static const char *const endings[] = {"progress", "trace", "tail", "new", "threads"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char *path = rf_text("%s/rank-%s.%s", run, rank, endings[i]);
        unlink(path);
        free(path);
    }
}

int rf_become(char **words) {
    struct rf_error error = {0};
    struct rf_start start;
    for (int i = 0; i < 5; i++)
        if (!words[i])
            return RF_EXIT_USAGE;
    if (!rf_start_load(&start, words[0], atoi(words[1]), &error))
        return rf_report_error(&error);
    struct rf_launch launch = rf_start_launch(&start);
    launch.trace = words[0];
    launch.run = words[2];
    launch.adapter = words[3];
    launch.scheme = words[4];
    json_t *manifest = rf_manifest_load(words[0], NULL, &error);
    if (!manifest)
        return rf_report_error(&error);
    launch.order = rf_manifest_order(manifest);
    launch.values = rf_manifest_values(manifest);
    bool wanted = rf_thread_log_exist(words[0], atoi(words[1]));
    char *threads = wanted ? rf_find_adapter(RF_NO_MESSAGES) : NULL;
    int file; /* named by a descriptor of this process, it has to outlive what comes now */
    if (threads && sscanf(threads, "/proc/%*d/fd/%d", &file) == 1)
        fcntl(file, F_SETFD, 0);
    launch.threads = threads;
    forget_run(words[2], words[1]);
    rf_launch_become(&launch, start.arguments);
    rf_fail(&error, RF_EXIT_ENVIRONMENT, "cannot run %s in %s: %s", start.executable,
            start.directory, strerror(errno));
    int code = rf_report_error(&error);
    free(threads);
    json_decref(manifest);
    rf_start_free(&start);
    return code;
}
