/* Chooses the times of a long run of which single pieces of work are kept: windows of a fixed length of a common clock,
 * numbered from its beginning, so that all ranks of a job keep the same ones. At level 0 all windows are kept, and each
 * level keeps about half of the windows of the one below. A hash of the number decides, so that no work that comes at
 * regular times is always kept, or never. Pure; any thread. */
#ifndef KEPT_WINDOW_H
#define KEPT_WINDOW_H

#include <stdint.h>

#define KEPT_WINDOW_GPU_NS 100000000u /* length of a window of GPU work, and of its counters */
#define KEPT_WINDOW_LEVELS 20u /* levels 0 to 19: at the last one, one window of half a million */

/* Returns the highest level at which a window is kept. */
uint32_t kept_window_level(uint64_t window);

/* Returns the highest level at which one of some windows is kept. Above 1,024 windows that is the last level. first is
 * not above last. */
uint32_t kept_window_level_of(uint64_t first, uint64_t last);

#endif
