#include "compiler_words.h"

#include <stdlib.h>
#include <string.h>

#include "text.h"

static bool one_of(const char *word, const char *const *list) {
    while (*list && strcmp(word, *list) != 0)
        list++;
    return *list;
}

/* Options whose argument is the next word. */
static bool takes_word(const char *word) {
    static const char *const options[] = {"-o",
                                          "-x",
                                          "-l",
                                          "-L",
                                          "-I",
                                          "-D",
                                          "-U",
                                          "-B",
                                          "-T",
                                          "-u",
                                          "-z",
                                          "-e",
                                          "-A",
                                          "-MF",
                                          "-MT",
                                          "-MQ",
                                          "-include",
                                          "-imacros",
                                          "-isystem",
                                          "-idirafter",
                                          "-iquote",
                                          "-iprefix",
                                          "-isysroot",
                                          "-iwithprefix",
                                          "-Xlinker",
                                          "-Xassembler",
                                          "-Xpreprocessor",
                                          "-Xclang",
                                          "-mllvm",
                                          "-target",
                                          "-aux-info",
                                          "-dumpbase",
                                          "-dumpdir",
                                          "-wrapper",
                                          "--param",
                                          "--sysroot",
                                          "-framework",
                                          "-iwithprefixbefore",
                                          NULL};
    return one_of(word, options);
}

static const char *ending(const char *word) {
    const char *dot = strrchr(rf_base_name(word), '.');
    return dot ? dot + 1 : "";
}

static bool is_source(const char *word) {
    static const char *const endings[] = {"c",   "cc", "cp", "cpp", "cxx", "c++", "C",
                                          "CPP", "m",  "mm", "M",   "i",   "ii",  "S",
                                          "sx",  "h",  "hh", "hpp", NULL};
    return word[0] != '-' && one_of(ending(word), endings);
}

static bool is_library(const char *word) {
    const char *name = rf_base_name(word);
    if (word[0] == '-')
        return word[1] == 'l';
    return strcmp(ending(word), "a") == 0 || strcmp(ending(word), "so") == 0 ||
           strstr(name, ".so.");
}

static bool is_input(const char *word) {
    return is_source(word) || is_library(word) || strcmp(word, "-") == 0 ||
           strcmp(ending(word), "o") == 0 || word[0] == '@';
}

/* What is made then is no program. */
static bool ends_before_linking(const char *word) {
    static const char *const options[] = {
        "-c", "-S", "-E", "-M", "-MM", "-shared", "-r", "-fsyntax-only", NULL};
    return one_of(word, options);
}

static char *object_of(const char *source) {
    const char *name = rf_base_name(source);
    const char *dot = strrchr(name, '.');
    return rf_text("%.*s.o", (int)(dot ? dot - name : (long)strlen(name)), name);
}

static void add(char ***list, size_t *count, char *word) {
    *list = rf_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = word;
}

void rf_compiler_words(char *const *command, struct rf_compiler_words *words) {
    *words = (struct rf_compiler_words){.links = true};
    bool inputs = false, assembles = false;
    const char *output = NULL;
    for (size_t i = 1; command[i]; i++) {
        const char *word = command[i];
        if (takes_word(word) && command[i + 1]) {
            if (strcmp(word, "-o") == 0)
                output = command[i + 1];
            inputs = inputs || strcmp(word, "-l") == 0;
            i++;
            continue;
        }
        if (rf_starts_with(word, "-o") && word[2])
            output = word + 2;
        inputs = inputs || is_input(word);
        words->reads_input = words->reads_input || strcmp(word, "-") == 0;
        words->compiles = words->compiles || is_source(word) || words->reads_input;
        words->links = words->links && !ends_before_linking(word);
        assembles = assembles || strcmp(word, "-c") == 0;
        if (is_source(word))
            add(&words->objects, &words->object_count, object_of(word));
    }
    words->links = words->links && inputs;
    if (words->links)
        words->output = rf_copy(output ? output : "a.out");
    if (assembles && output && words->object_count == 1) {
        free(words->objects[0]);
        words->objects[0] = rf_copy(output);
    }
    for (; !assembles && words->object_count; words->object_count--)
        free(words->objects[words->object_count - 1]);
}

void rf_compiler_words_free(struct rf_compiler_words *words) {
    for (size_t i = 0; i < words->object_count; i++)
        free(words->objects[i]);
    free(words->objects);
    free(words->output);
}

/* As an option it is the linker's, whatever -x says about files. */
static void add_library(char ***list, size_t *count, const char *library) {
    add(list, count, rf_copy("-Xlinker"));
    add(list, count, rf_copy(library));
}

/* A linker looks into an archive for what is missing at that place. The program misses the adapter
   where it missed the MCAPI library before, whichever that is, and the adapter misses the library
   then: so it is put before every one, and at the end. Where archives are taken whole, it would
   come twice. */
char **rf_compiler_command(char *const *command, const char *header, const char *library) {
    char **list = NULL;
    size_t count = 0;
    bool whole = false;
    add(&list, &count, rf_copy(command[0]));
    for (size_t i = 1; command[i]; i++) {
        const char *word = command[i];
        /* A word or two before the first option may be the compiler, of ccache for example. */
        if (header && (word[0] == '-' || is_input(word))) {
            add(&list, &count, rf_copy("-include"));
            add(&list, &count, rf_copy(header));
            header = NULL;
        }
        if (rf_starts_with(word, "-Wl,")) {
            bool off = strstr(word, "--no-whole-archive") || strstr(word, "--pop-state");
            whole = !off && (whole || strstr(word, "--whole-archive"));
        }
        if (library && !whole && is_library(word))
            add_library(&list, &count, library);
        add(&list, &count, rf_copy(word));
        if (takes_word(word) && command[i + 1])
            add(&list, &count, rf_copy(command[++i]));
    }
    if (library) {
        add_library(&list, &count, library);
        add(&list, &count, rf_copy("-pthread"));
    }
    add(&list, &count, NULL);
    return list;
}
