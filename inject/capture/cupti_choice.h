/* Chooses the libcupti that the guest uses, and decides what follows if another profiler holds CUPTI then. If another
 * profiler takes CUPTI between two windows, subscribe() in window/capture_window.c decides. Only one thread at a time
 * may call it: the one that loads the guest, later the helper thread. */
#ifndef CUPTI_CHOICE_H
#define CUPTI_CHOICE_H

#include "inject/cupti/cupti_abi.h"

struct cupti_library;
struct definition_writer;

/* Opens the first candidate (cupti_search.h) that lets the guest subscribe. CUPTI's callbacks go to receive. If another
 * profiler holds one, the guest tries no further candidate and goes without CUPTI. Returns its path, in static memory;
 * NULL: there is none, and a notice says why. */
const char *cupti_choice_make(struct cupti_library *library, cupti_callback_fn *receive,
			      struct definition_writer *notices);

#endif
