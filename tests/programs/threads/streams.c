/* Streams of the C library: threads write lines to one, and take what comes next from another. */
#include "trails.h"

#include <stdarg.h>

static FILE *out, *lines, *numbers, *blocks;
static struct trail taken;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
}

/* What a thread gets is its own; that others got something else shows in the trail. */
static void take(int round) {
    char line[32], *longer = NULL;
    size_t room = 0;
    long number = -1;
    if (round % 4 == 0 && fgets(line, sizeof line, lines))
        number = strtol(line, NULL, 10);
    else if (round % 4 == 1 && getline(&longer, &room, lines) > 0)
        number = strtol(longer, NULL, 10);
    else if (round % 4 == 2 && fscanf(numbers, "%ld", &number) != 1)
        number = -2;
    else if (round % 4 == 3 && fread(&number, sizeof number, 1, blocks) != 1)
        number = -3;
    free(longer);
    observe("number", number);
    must("pthread_mutex_lock", pthread_mutex_lock(&mutex));
    step_value("took", &taken, number);
    must("pthread_mutex_unlock", pthread_mutex_unlock(&mutex));
}

static void body(int number) {
    for (int i = 0; i < ROUNDS; i++) {
        take(i);
        fprintf(out, "%d: line %d\n", number, i);
        say("%d: another\n", number);
        fputs("a text, ", out);
        putc('0' + number, out);
        fwrite("\n", 1, 1, out);
        if (i % 10 == 0) { /* two lines that nobody comes between */
            flockfile(out);
            fprintf(out, "%d: one\n", number);
            work();
            fprintf(out, "%d: two\n", number);
            funlockfile(out);
        }
        work();
    }
}

static FILE *file(void) {
    FILE *made = tmpfile();
    if (!made)
        abort();
    return made;
}

int main(void) {
    out = file(), lines = file(), numbers = file(), blocks = file();
    for (long i = 0; i < (long)THREADS * ROUNDS; i++) {
        fprintf(lines, "%ld\n", i);
        fprintf(numbers, "%ld ", i);
        fwrite(&i, sizeof i, 1, blocks);
    }
    rewind(lines), rewind(numbers), rewind(blocks);
    observe_open(0);
    run_threads(THREADS, body);
    trail_print("taken", &taken);
    struct trail written = {0};
    rewind(out);
    for (int c; (c = fgetc(out)) != EOF;)
        step_value("wrote", &written, c);
    trail_print("written", &written);
    return 0;
}
