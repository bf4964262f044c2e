/* The callbacks' work where capture windows are wanted: they count launches out and in, hold them at the gate while the
 * guest leaves CUPTI, and leave it (capture_window.h). On the application's threads, inside CUPTI's callbacks, unless a
 * function says otherwise. They keep errno. */
#ifndef WINDOW_CALLBACK_H
#define WINDOW_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"

/* Call it once, before the others. by_profiler: cudaProfilerStart and cudaProfilerStop open and close windows. every:
 * they do so at one of that many steps (window_steps.h; 0, 1: at all). record: a set of enum record_option. */
void window_callback_init(bool by_profiler, uint32_t every, uint32_t record);

/* At the entry and exit of a driver call where window_word is not plain. Returns whether the call is to be
 * recorded if it is a launch. */
bool window_callback_enter(uint32_t cbid, const struct cupti_callback_data *call);
bool window_callback_exit(uint32_t cbid, const struct cupti_callback_data *call);

/* Any thread: the number of calls of cudaProfilerStart so far, where steps are counted by them. */
uint64_t window_callback_starts(void);

#endif
