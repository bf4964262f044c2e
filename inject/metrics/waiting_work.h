/* Work that forbids to measure, since waiting for it may take for ever or break it: kernels that wait for other GPUs
 * (NCCL's, NVSHMEM's), and streams that are being captured. Any thread; no lock. */
#ifndef WAITING_WORK_H
#define WAITING_WORK_H

#include <stdbool.h>

/* Forgets all. flush_soon: asks for the GPU's records, which tell when kernels have ended. Borrowed for good. */
void waiting_work_init(void (*flush_soon)(void));

/* Returns whether a kernel of this name, which may be NULL, waits for others. */
bool waiting_work_is(const char *kernel);

/* Such a kernel is launched. If any stream of the process is captured meanwhile, a graph may have it, and there is such
 * work for good. */
void waiting_work_launched(void);

/* A kernel's record has come, whatever it is like and whether it is wanted or not; or its launch has failed. kernel:
 * may be NULL. */
void waiting_work_ended(const char *kernel);

/* CUPTI has dropped records. A kernel whose record is among them is such work for good. */
void waiting_work_dropped(void);

/* A capture begins; or it has ended, or has not begun. */
void waiting_work_capture(bool begins);

/* Return whether a stream is being captured; whether graphs have such kernels; whether the record of one is missing and
 * CUPTI has dropped some; and whether there is no such work at all. If it is such kernels alone, the last one asks for
 * records now and then. */
bool waiting_work_is_capturing(void);
bool waiting_work_is_in_graphs(void);
bool waiting_work_is_missing(void);
bool waiting_work_is_none(void);

#endif
