/* Turns a guest's samples of running kernels into samples of source lines (host_sample.h), and collects them until they
 * are sent. It also collects the cubins that the lines come from. A worker makes their line tables. Samples that come
 * meanwhile wait for the lines. Everything is bounded, whatever the ring holds. Part of the ring source;
 * single-threaded: only the agent loop calls it. */
#ifndef RING_SAMPLES_H
#define RING_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring_outputs.h"

#include "proto/definition.h"

#define RING_SAMPLES_MAX     16384u     /* in one message, and those of one definition more */
#define RING_SAMPLES_WAITING (4u << 20) /* bytes of definitions that wait for lines */
/* For so long, by the guest's clock, samples wait for the rest of a cubin of which a part has come. */
#define RING_SAMPLES_REST_NS 5000000000ull

struct message;
struct ring_samples;
struct stack_resolver;

/* Creates the empty collection. The outputs are borrowed until destroy. user: the process's. NULL: out of memory.
 * destroy() accepts NULL. */
struct ring_samples *ring_samples_create(const struct ring_outputs *outputs, uid_t user);
void ring_samples_destroy(struct ring_samples *samples);

/* Says who resolves the stacks of launches, before the first exact sample. Borrowed until destroy. */
void ring_samples_set_stacks(struct ring_samples *samples, struct stack_resolver *stacks);

/* Says that the guest came when the process ran: code that was loaded before is never told. From now on samples without
 * code are counted (LEDGER_KERNEL_SAMPLE_NO_CODE), also those of code without lines, which looks the same. */
void ring_samples_came_late(struct ring_samples *samples);

/* Take a definition: head, and size bytes behind it. 0; -EINVAL: no guest writes this; -ENOMEM. A cubin that finds no
 * room, or is damaged, is counted (LEDGER_GPU_CODE_LOST). So is a cubin whose samples find no room to wait for it: they
 * keep their numbers, and have no lines. Samples of a cubin of which not all has come are counted as those above. So
 * are samples whose place finds no room (LEDGER_KERNEL_SAMPLE_NO_LINES, LEDGER_KERNEL_SAMPLE_NO_PLACE). */
int ring_samples_reason(struct ring_samples *samples, const struct definition_stall_reason *head,
			const char *name, size_t size);
int ring_samples_cubin(struct ring_samples *samples, const struct definition_cubin *head,
		       const void *bytes, size_t size);
int ring_samples_add(struct ring_samples *samples, const struct definition_kernel_samples *head,
		     const void *entries, size_t size);

/* Takes samples whose launch is known, within its stack. Those of a launch without a stack, because it is not
 * known or the agent walks it, are counted (LEDGER_EXACT_SAMPLE_NO_LAUNCH). Their outermost frame is the kernel.
 * Otherwise as ring_samples_add(). */
int ring_samples_add_exact(struct ring_samples *samples,
			   const struct definition_exact_samples *head, const void *entries,
			   size_t size);

/* Takes the line tables that workers have made, and adds the samples that waited for them. 0 or -ENOMEM. */
int ring_samples_step(struct ring_samples *samples);

/* Returns whether samples wait for lines. ring_samples_give_up() refuses the cubins that they wait for, so that the
 * next step adds them without lines. */
bool ring_samples_wait_for_lines(const struct ring_samples *samples);
void ring_samples_give_up(struct ring_samples *samples);

/* Enters no more names and stacks: samples have none from now on. */
void ring_samples_close(struct ring_samples *samples);

/* ring_samples_take() fills in a message with everything that waits, but without its process. After it nothing waits;
 * the message is borrowed until the next add. Both return whether anything waits. */
bool ring_samples_waits(const struct ring_samples *samples);
bool ring_samples_take(struct ring_samples *samples, struct message *message);

/* Returns whether no more should be added before what waits is sent. */
bool ring_samples_is_full(const struct ring_samples *samples);

#endif
