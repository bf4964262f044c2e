/* Subscribes to the CUPTI calls and kinds that the guest wants. It is started once, on the thread that loads the guest.
 * CUPTI then calls back on the application's threads (callback_dispatch.h). */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/cupti/cupti_abi.h"
#include "proto/options/graph_mode.h"

struct cupti_library;
struct definition_writer;

/* Subscribes and does nothing else, so that another libcupti may be tried. CUPTI's callbacks go to receive. Returns a
 * CUptiResult; CUPTI_ABI_NOT_INITIALIZED: CUPTI is too new for this driver; CUPTI_ABI_SUBSCRIBER_TAKEN: another
 * subscriber has it. */
int subscription_open(const struct cupti_library *library, cupti_callback_fn *receive);

/* Tells the name of the subscriber that has CUPTI, after CUPTI_ABI_SUBSCRIBER_TAKEN. CUPTI 13.0 and later know it; "":
 * not known. */
void subscription_holder(const struct cupti_library *library,
			 char name[static CUPTI_ABI_NAME_SIZE]);

/* Ends a subscription that was opened or stopped. */
void subscription_close(void);

/* Enables callbacks of cuProfilerStart and cuProfilerStop only, for an opened subscription. Returns a CUptiResult. */
int subscription_listen(void);

/* Enables callbacks of loaded GPU code and of contexts that end, for an opened subscription, if `record` asks for
 * samples of kernels. They stay on between windows, because code of a window is mostly loaded before it. */
void subscription_hear_of_code(uint32_t record);

/* Enables callbacks and activity (activity_buffers.h must be ready). nodes: stacks of graphs' nodes are kept. record is
 * a set of enum record_option. If CUPTI refuses a kind, or all of them, a notice says so and the kind stays off.
 * Returns a CUptiResult; other than CUPTI_ABI_SUCCESS: no launch callback could be enabled, and nothing is on. */
int subscription_start(enum graph_mode graphs, bool nodes, uint32_t record,
		       struct definition_writer *notices);

/* Enables the kinds of subscription_start() again after another user had CUPTI's activity API. With `callbacks`,
 * registers our callbacks again before. Only the helper thread calls it. */
void subscription_take_up(bool callbacks);

/* Enables callbacks of the calls that decide when a window may end, for a started subscription. */
void subscription_watch(void);

/* Switches all callbacks and kinds off; the subscription stays. Any thread may call. Call it only if CUPTI is left at
 * once. In CUPTI 13.0 a thread may be inside a call while that call's callback is switched off. All later launches of
 * this thread may then have that call's correlation id, until cuptiFinalize(). */
void subscription_stop(void);

/* Does the same but leaves the callbacks of driver calls on. Use it when CUPTI stays in the process. */
void subscription_pause(void);

/* Makes CUPTI leave the process, which ends the subscription. Call it at the exit of a driver call with nothing
 * outstanding. Returns a CUptiResult; CUPTI_ABI_NOT_SUPPORTED: this CUPTI cannot do it, or another subscriber shares
 * it. */
int subscription_finalize(void);

#endif
