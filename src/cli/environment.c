#include "environment.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text.h"
#include "utf8.h"

/* An entry that ends with "=" is a whole name, any other the beginning of one. */
static const char *const relevant[] = {
    "OMPI_", "PMIX_MCA_", "PRTE_MCA_", "MPIR_", "MPICH_", "MPIEXEC_",         "HYDRA_", "UCX_",
    "FI_",   "OMP_",      "GOMP_",     "KMP_",  "I_MPI_", "LD_LIBRARY_PATH=", "PATH=",
};

/* These belong to one job, not to the way jobs are run; restoring them would be wrong. */
static const char *const passing[] = {"OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "OMPI_APP_",
                                      "OMPI_MCA_orte_",   "OMPI_MCA_ess_",  "OMPI_FILE_"};

bool rf_environment_matters(const char *variable) {
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        if (rf_starts_with(variable, passing[i]))
            return false;
    for (size_t i = 0; i < sizeof relevant / sizeof relevant[0]; i++) {
        size_t length = strcspn(relevant[i], "=");
        bool whole = relevant[i][length] == '=';
        if (strncmp(variable, relevant[i], length) == 0 &&
            (!whole || variable[length] == '=' || variable[length] == 0))
            return true;
    }
    return false;
}

void rf_environment_restore(const json_t *recorded) {
    /* unsetenv() moves the array's rest up, so the same place is looked at again. */
    for (size_t i = 0; environ[i];) {
        char *name = rf_text("%.*s", (int)strcspn(environ[i], "="), environ[i]);
        if (rf_environment_matters(name) && !json_object_get(recorded, name) && *name)
            unsetenv(name);
        else
            i++;
        free(name);
    }
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)recorded, name, value) if (json_is_string(value)) {
        char *bytes = rf_utf8_bytes(json_string_value(value));
        setenv(name, bytes, 1);
        free(bytes);
    }
}
