/* Chooses the times of a long run of which samples are kept: windows of a fixed length of the common clock
 * (CLOCK_REALTIME), so that all ranks of a job keep the same ones. At level 0 all windows are kept, and each level
 * keeps about half of the windows of the one below. A hash of the window's number decides, so that no work that comes
 * at regular times is always kept, or never. Pure; any thread. */
#ifndef KEPT_WINDOW_H
#define KEPT_WINDOW_H

#include <stdint.h>

#define KEPT_WINDOW_NS     1000000000ull
#define KEPT_WINDOW_LEVELS 20u /* levels 0 to 19: at the last one a window in six days is kept */

/* Returns the highest level at which the window with this time is kept. */
uint32_t kept_window_level(uint64_t time_ns);

/* Returns the highest level at which a window is kept that has a part of a time. Times above 1,024 windows are kept at
 * all levels. start_ns is not above end_ns. */
uint32_t kept_window_level_of(uint64_t start_ns, uint64_t end_ns);

#endif
