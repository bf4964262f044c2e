/* Samples running kernels (--record stalls, --sample-gpu): which instruction waits, and for what. Each context of the
 * process has a session while a capture window is open. The guest's own thread passes on what CUPTI has, as
 * definitions: 0.1 s after the first session of the process began, then ever later, up to once a second. Counts them in
 * the ledger:
 *	LEDGER_KERNEL_SAMPLES = passed on + LEDGER_KERNEL_SAMPLE_OTHER + LEDGER_KERNEL_SAMPLE_LOST
 * With exact windows (exact_windows.h) the same holds for LEDGER_EXACT_SAMPLES and its two. Each sample then has the
 * stack of its launch. Where CUPTI refuses, a notice says why, and the rest of the profile goes on. One per process. */
#ifndef KERNEL_SAMPLER_H
#define KERNEL_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#define KERNEL_SAMPLER_CONTEXTS 64u /* of a process; others are not sampled, and a notice says so */

struct cupti_library;
struct definition_writer;
struct exact_launch;

/* Call it before the others, while there is no context. Both are borrowed for good. */
void kernel_sampler_init(const struct cupti_library *library,
			 struct definition_writer *definitions);

/* Takes samples in exact windows alone, so many a second and GPU; call it after init. Both ways at once are not
 * possible: CUPTI has one session a context, and a change of its mode takes 0.4 s, in which launches wait (an H200,
 * CUPTI 13.0). */
void kernel_sampler_use_windows(uint32_t rate);

/* In the callbacks of a launch, within the gate, while exact_windows_are_wanted(). launch: NULL: its stack is not
 * known. kernel: its name, or NULL. A launch that must not be in a window (waiting_launches.h) closes it, and may wait
 * for other launches. */
void kernel_sampler_enter(void *context, uint32_t correlation_id, const struct exact_launch *launch,
			  uint32_t cbid, const char *kernel);
void kernel_sampler_exit(void *context, uint32_t correlation_id);

/* In CUPTI's callbacks: a context was created (device_id: CUDA ordinal), or is about to be destroyed.
 * kernel_sampler_forget() ends its session after a last look. It waits for a look that the guest's own thread is
 * taking, at most for a second; then the samples since the last look are lost. */
void kernel_sampler_context(void *context, uint32_t device_id);
void kernel_sampler_forget(void *context);

/* In a callback of a launch, which does not wait: a guest that took CUPTI up late has not heard of contexts that were
 * there before. */
void kernel_sampler_meet(void *context);

/* Nobody knows whether callbacks will tell of destroyed contexts from now on. So all contexts are forgotten, and their
 * sessions end. Launches tell of them again. ended: CUPTI was ended, and all sessions with it. */
void kernel_sampler_leave(bool ended);

/* The guest's own thread, while CUPTI is in use: begins sessions, and passes samples on. */
void kernel_sampler_step(void);

/* The guest's own thread: ends all sessions, after a last look. last: the process ends; else they may begin again. */
void kernel_sampler_end(bool last);

/* Returns whether a session ever began. Any thread. */
bool kernel_sampler_has_begun(void);

/* Returns whether samples may come that need GPU code: no session was refused, or one has begun. Any thread. */
bool kernel_sampler_needs_code(void);

#endif
