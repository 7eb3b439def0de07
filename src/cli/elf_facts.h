/* What an ELF file tells about how MPI gets into it. */
#ifndef RF_CLI_ELF_FACTS_H
#define RF_CLI_ELF_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct rf_elf_facts {
    bool dynamic;    /* it names an interpreter, so libraries can be preloaded */
    bool embeds_mpi; /* MPI_Init is defined in it */
    bool embeds_mcapi;
    bool calls_mcapi;     /* as version 2 names it, wherever that is */
    bool defines_renamed; /* refrain_mcapi_initialize is, by the adapter or by somebody else */
    bool instrumented;    /* the MCAPI adapter is linked into it */
    bool openmp;          /* needs GCC's library for it */
    bool other_openmp;    /* needs that of Clang or of Intel */
    bool tsan;            /* built with -fsanitize=thread */
    bool embeds_tsan;     /* and ThreadSanitizer itself is linked into it */
    const char *mpi;      /* of the library it needs: "openmpi", "mpich" or NULL */
    char library[64];     /* that library */
};

/* False when the file is not an ELF program. */
bool rf_elf_facts(const char *path, struct rf_elf_facts *facts);

/* The build id of a file; returns its length, 0 when there is none or no such file. */
unsigned rf_elf_build_id(const char *path, uint8_t id[20]);

#endif
