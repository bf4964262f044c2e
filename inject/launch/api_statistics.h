/* Counts and times CUDA's API calls, if FLAMEGRID_API asks for it. CUPTI's callbacks count a call when it returns, on
 * the application's threads. The helper thread sums over the threads and defines the sums that changed. If nothing was
 * asked for, the only cost is the test of api_statistics_on. There is one per process. */
#ifndef API_STATISTICS_H
#define API_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"

struct cupti_library;
struct definition_writer;
struct record_ring;

/* Set before the first callback, and constant afterwards. */
extern bool api_statistics_on __attribute__((visibility("hidden")));

/* Selects functions by list (api_options.h; NULL or "": none). A notice names the functions that cannot be counted.
 * record is the set of enum record_option that is recorded besides. ring is borrowed for good. Call it on the thread
 * that loads the guest. A second call starts anew (tests). */
void api_statistics_init(struct record_ring *ring, const struct cupti_library *library,
			 const char *list, uint32_t record, struct definition_writer *definitions);

/* Enables CUPTI's callbacks, or disables them (enable 0). Call it again after each new subscription to CUPTI. */
void api_statistics_enable(const struct cupti_library *library, void *subscriber, uint32_t enable);

/* Notes that a call of the driver or runtime domain begins or ends. Functions that were not selected are ignored. */
void api_statistics_enter(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *call);
void api_statistics_exit(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *call);

/* Returns whether the launch callback also wants this function of the driver. */
bool api_statistics_is_launch(uint32_t cbid);

/* Sums up, and defines the functions that were called since the last time. last: counts that find no room now are
 * counted as lost. The helper thread calls it. */
void api_statistics_publish(struct definition_writer *definitions, bool last);

#endif
