/* Receives the callbacks of the guest's subscription, and hands each to the module that it is for: launches, calls
 * that decide about windows, calls that are counted, nodes of graphs, streams, contexts. On the application's
 * threads, inside CUPTI. */
#ifndef CALLBACK_DISPATCH_H
#define CALLBACK_DISPATCH_H

#include <stdint.h>

#include "inject/launch/launch_callback.h"

struct cupti_library;

/* Called at events other than launches, inside CUPTI's callbacks. They must not block or call CUDA. */
struct callback_dispatch_events {
	void (*init_finished)(void);   /* cuInit is done */
	void (*context_created)(void); /* at each */
	void (*failed)(void);          /* CUPTI gave up and finalised itself: never call it again */
};

struct callback_dispatch_parts {
	/* Both are borrowed for good. The library is filled before CUPTI is subscribed to. */
	const struct cupti_library *library;
	const struct callback_dispatch_events *events;
	struct launch_callback launch; /* its window is set later */
	uint32_t record;               /* a set of enum record_option */
};

/* Call it once, before CUPTI is subscribed to. *parts is copied. */
void callback_dispatch_init(const struct callback_dispatch_parts *parts);

/* Sets the window that launches belong to from now on. Only between windows. */
void callback_dispatch_set_window(uint16_t window);

/* Notes a mark of the program in the calling thread (proto/record.h), if marks are recorded and a window is open.
 * number: as in launch_callback_mark(). Any of the application's threads, outside of CUPTI. */
void callback_dispatch_mark(enum record_mark mark, uint32_t number);

/* For cuptiSubscribe(): a cupti_callback_fn. */
void callback_dispatch_receive(void *user, uint32_t domain, uint32_t cbid, const void *data);

#endif
