/* The callbacks' work where capture windows are wanted: they count launches out and in, hold them at the gate while the
 * guest leaves CUPTI, and leave it (capture_window.h). On the application's threads, inside CUPTI's callbacks, unless a
 * function says otherwise. They keep errno. */
#ifndef WINDOW_CALLBACK_H
#define WINDOW_CALLBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"

/* Call it once, before the others. record: a set of enum record_option. */
void window_callback_init(uint32_t record);

/* At the entry and exit of a driver call where window_word is not plain. Returns whether the call is to be
 * recorded if it is a launch. */
bool window_callback_enter(uint32_t cbid, const struct cupti_callback_data *call);
bool window_callback_exit(uint32_t cbid, const struct cupti_callback_data *call);

#endif
