/* Counts and times of CUDA's API calls, where FLAMEGRID_API asks for them. Calls are counted when they return: on the
 * application's threads, by CUPTI's callbacks; the helper thread sums up over threads and defines what changed. While
 * nothing was asked for, all that is left of it is the test of api_statistics_on. One per process. */
#ifndef API_STATISTICS_H
#define API_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"

struct cupti_library;
struct definition_writer;
struct record_ring;

/* Set before the first callback, then constant. */
extern bool api_statistics_on __attribute__((visibility("hidden")));

/* Selects functions by list (api_options.h; NULL or "": none) and says in a notice what cannot be had. record: what
 * else is recorded, a set of enum record_option. ring is borrowed for good. On the thread that loads the guest. Called
 * again it starts anew (tests). */
void api_statistics_init(struct record_ring *ring, const struct cupti_library *library,
			 const char *list, uint32_t record, struct definition_writer *definitions);

/* Asks CUPTI for the callbacks, again whenever it was subscribed to anew; enable 0: for no more. */
void api_statistics_enable(const struct cupti_library *library, void *subscriber, uint32_t enable);

/* A call of the driver or runtime domain begins or ends. Functions that were not selected are ignored. */
void api_statistics_enter(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *call);
void api_statistics_exit(uint32_t domain, uint32_t cbid, const struct cupti_callback_data *call);

/* Whether the launch callback wants this function of the driver, too. */
bool api_statistics_is_launch(uint32_t cbid);

/* On the helper thread: sums up, and defines the functions that were called since the last time. last: what finds no
 * room now is counted as lost. */
void api_statistics_publish(struct definition_writer *definitions, bool last);

#endif
