/* What the files with the functions of the specification share. Inside the library none of these
   functions calls another one: a tool that puts itself before them sees the program's calls only.
 */
#ifndef MC_API_H
#define MC_API_H

#include "job.h"

#define MC_API __attribute__((visibility("default")))

extern const char mc_for_tools; /* where the functions of mcapix.h are */

#endif
