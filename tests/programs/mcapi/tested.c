/* Receives that are only tested, and none of them waited for: nobody may keep anything of them for
   ever. Of a request that was tested before so many others that the library has forgotten it, a
   wait says so. Messages of a node to itself; nothing varies. Prints the peak of the memory.

   tested MESSAGES */
#include <mcapi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NEAR = 10, FAR = 5000, KEPT = 8192 };

static mcapi_status_t status;

static mcapi_request_t receive(mcapi_endpoint_t endpoint) {
    mcapi_request_t request;
    static char data[8];
    size_t size;
    mcapi_msg_send(endpoint, endpoint, "word", 5, 0, &status);
    mcapi_msg_recv_i(endpoint, data, sizeof data, &request, &status);
    while (!mcapi_test(&request, &size, &status))
        if (status != MCAPI_PENDING)
            abort();
    return request;
}

static void wait_for(const char *which, mcapi_request_t request) {
    size_t size;
    mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    printf("%s: %s\n", which, status == MCAPI_SUCCESS ? "known" : "unknown");
}

static void print_peak(void) {
    char line[128];
    FILE *file = fopen("/proc/self/status", "r");
    long peak = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &peak) == 1)
            break;
    if (file)
        fclose(file);
    fprintf(stderr, "peak %ld\n", peak);
}

int main(int argc, char **argv) {
    static mcapi_request_t kept[KEPT];
    long messages = argc > 1 ? atol(argv[1]) : 2L * FAR;
    mcapi_info_t info;
    mcapi_initialize(0, 1, NULL, NULL, &info, &status);
    mcapi_endpoint_t endpoint = mcapi_endpoint_create(1, &status);
    for (long i = 0; i < messages; i++)
        kept[i % KEPT] = receive(endpoint);
    wait_for("a near one", kept[(messages - NEAR) % KEPT]);
    wait_for("a far one", kept[(messages - FAR) % KEPT]);
    mcapi_finalize(&status);
    print_peak();
    return 0;
}
