/* CUPTI's activity records: which kinds are on, and what becomes of an operation. Any thread. */
#ifndef ACTIVITY_KIND_H
#define ACTIVITY_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/sim_trace.h"

/* Whether any kind is enabled. */
bool activity_kind_any(void);

/* Whether this one is. */
bool activity_kind_on(uint32_t kind);

/* Whether a graph launch gives one record instead of those of its nodes. */
bool activity_kind_graphs(void);

/* Whether this CUpti_ActivityKind is recorded. */
bool activity_kind_enabled(uint32_t kind);

/* Writes the allocation's or free's record likewise. */
void activity_kind_allocation(const struct sim_allocation *allocation);

/* Writes the operation's record into a buffer of the calling thread, or counts why not. */
void activity_kind_record(const struct sim_operation *operation);

/* Waits for all work of all contexts, as CUPTI does when it comes and when it leaves. */
void activity_kind_wait_for_work(void);

#endif
