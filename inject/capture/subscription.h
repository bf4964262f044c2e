/* The guest's subscription to CUPTI: which calls and kinds it wants. Started once, on the thread that loads the guest;
 * CUPTI then calls back on the application's threads (callback_dispatch.h). */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"
#include "proto/options/graph_mode.h"

struct cupti_library;
struct definition_writer;

/* Subscribes and does nothing else, so that another libcupti may be tried. CUPTI's callbacks go to receive.
 * Returns a CUptiResult: CUPTI_ABI_NOT_INITIALIZED: too new for this driver;
 * CUPTI_ABI_SUBSCRIBER_TAKEN. */
int subscription_open(const struct cupti_library *library, cupti_callback_fn *receive);

/* After CUPTI_ABI_SUBSCRIBER_TAKEN: who has it, as CUPTI 13.0 and later tell; "": not known. */
void subscription_holder(const struct cupti_library *library,
			 char name[static CUPTI_ABI_NAME_SIZE]);

/* Takes the subscription back, opened or stopped. */
void subscription_close(void);

/* Of an opened one: only cuProfilerStart and cuProfilerStop are called back. A CUptiResult. */
int subscription_listen(void);

/* Enables callbacks and activity (activity_buffers.h must be ready). nodes: stacks of graphs' nodes are kept; record is
 * a set of enum record_option. A kind that CUPTI refuses, or all of them, is said in a notice and left off.
 * Returns a CUptiResult; other than CUPTI_ABI_SUCCESS: no launch callback could be enabled, and
 * nothing is on. */
int subscription_start(enum graph_mode graphs, bool nodes, uint32_t record,
		       struct definition_writer *notices);

/* After another user of CUPTI's activity API: registers our callbacks again (with `callbacks`) and
 * enables the kinds that subscription_start() enabled. Only the helper thread calls it. */
void subscription_take_up(bool callbacks);

/* Of a started one: the calls that decide when a window may end are called back, too. */
void subscription_watch(void);

/* All callbacks and kinds off, on any thread; the subscription stays. Only where CUPTI is left at once: as was seen
 * of CUPTI 13.0, a thread that is inside a call when the call's callback is switched off may have that call's
 * correlation id for all that it launches from then on, until cuptiFinalize(). */
void subscription_stop(void);

/* The same but for the callbacks of driver calls, which go on: where CUPTI stays in the process. */
void subscription_pause(void);

/* CUPTI leaves the process, which must be at the exit of a driver call with nothing outstanding. The subscription is
 * gone. A CUptiResult; CUPTI_ABI_NOT_SUPPORTED: this CUPTI can't, or another subscriber shares it. */
int subscription_finalize(void);

#endif
