/* Measures launches (--metrics): what a GPU counted while a kernel ran. At a launch's callback the launching thread
 * waits for the context's work, lets the GPU count the launch alone, and waits for its end. Other launches cost a look
 * into a table. Nothing is replayed.
 *
 * A capture does not wait for the GPU, but for the cases that measured_launch.h and measured_range.h name. If another
 * thread is in a call of CUPTI's, it waits for that, at most METRICS_LOCK_FIRST_S.
 *
 * Or it measures ranges of the program (--ranges, nvtx_ranges.h). A range counts from its first call that asks the GPU
 * for work to its end, where its thread waits for the context's work. What other threads launch in the context
 * meanwhile is the range's as well, such as a backward pass. Kernels inside run as they would. One range of the process
 * is measured at a time; within it others are not, since CUPTI would take a run for each level of nesting.
 *
 * Launches and ranges are not measured
 * - in a process that captures a stream at that moment: CUPTI's calls would break the capture;
 * - while a kernel of NCCL's may run, because such a kernel may wait for what this thread launches later; nor such
 *   kernels themselves, nor cooperative launches, nor graphs;
 * - of a second context of a GPU while another one is measured.
 *
 * A launch or range is given up before a capture begins, or a kernel of NCCL's is launched. Ranges may have graphs and
 * cooperative launches. LEDGER_METRIC_REFUSED counts wanted launches and ranges that could not be measured, or were
 * given up. A launch beside which another thread launched is dropped (LEDGER_METRIC_SHARED), and so is a range beside
 * which another thread's range of these began, or at whose begin or end another thread was at a launch. Where CUPTI
 * refuses, a notice says why, and the rest of the profile goes on. One per process. */
#ifndef KERNEL_METRICS_H
#define KERNEL_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/options/metric_options.h"

struct cupti_callback_data;
struct cupti_library;
struct definition_writer;
struct gpu_record;
struct launch_callback;

/* Call it before the others. All pointers are borrowed for good. flush_soon: asks for the GPU's records. Returns 0 or
 * -ENOMEM, and then nothing is measured. */
int kernel_metrics_init(const struct cupti_library *library, struct definition_writer *definitions,
			const struct metric_options *options, void (*flush_soon)(void));

/* In the callbacks of driver calls: launches, behind launch_callback_enter(), and those of capture_calls.h. They keep
 * errno. CUPTI's functions, which a measured launch calls, allocate. */
void kernel_metrics_enter(const struct launch_callback *launch, uint32_t cbid,
			  const struct cupti_callback_data *call);
void kernel_metrics_exit(uint32_t cbid, const struct cupti_callback_data *call);

/* Takes a kernel's record with its times. name: CUPTI's. CUPTI's thread calls it. */
void kernel_metrics_record(const struct gpu_record *record, const char *name);

/* In a callback: the context is about to be destroyed. Its session ends after a last look. If the lock does not come
 * within METRICS_LOCK_CALLBACK_S, it stays as it is; so it is with the two functions behind this one. */
void kernel_metrics_forget(void *context);

/* Ends all sessions, after a last look. ended: CUPTI was ended, and all sessions with it. */
void kernel_metrics_leave(bool ended);

/* The guest's own thread, now and then: looks at what was counted, and defines sums and notices. last: the process
 * ends, and all records have come. */
void kernel_metrics_step(bool last);

/* Returns whether a session ever began. Any thread. */
bool kernel_metrics_has_begun(void);

#endif
