/* For programs of version 1 that include <mcapi.h>: `pkg-config --cflags mcapi1` puts this folder
   first. */
#define MCAPI1_INCLUDE_PARENT 1
#include "../mcapi1.h"
