/* Hears of the program's ranges, which it tells by NVTX (nvtx_injection.h) or by flamegrid.h (program_api.c), before
 * CUDA starts, too. */
#ifndef PROGRAM_RANGES_H
#define PROGRAM_RANGES_H

#include <stdbool.h>

struct nvtx_names;

/* Remembers ranges from the first call on, if they are asked for, as frames or as capture windows, and there may be an
 * agent. Returns their names, for the life of the process; NULL: ranges are not asked for, or there is no memory. Any
 * thread. */
struct nvtx_names *program_ranges_on(void);

/* Returns whether windows end where ranges do, after program_ranges_on(). Any thread. */
bool program_ranges_end_windows(void);

#endif
