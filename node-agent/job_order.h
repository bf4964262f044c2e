/* A command to all agents of a job, by the aggregator's clock, as this node's guests understand it. Pure; any
 * thread. */
#ifndef JOB_ORDER_H
#define JOB_ORDER_H

#include <stdint.h>

#include "node-agent/publish/clock_exchange.h"
#include "proto/batch/message.h"
#include "proto/ring/record_ring.h"

/* *command: the order with its times by this node's CLOCK_REALTIME; *taken: what the aggregator is told, but for
 * nr_processes. estimate: NULL: nothing is known of the clocks, and times are taken as they are. realtime_offset_ns:
 * this node's CLOCK_REALTIME - CLOCK_MONOTONIC; now_ns: its CLOCK_MONOTONIC. */
void job_order_take(const struct message_control *order,
		    const struct clock_exchange_estimate *estimate, int64_t realtime_offset_ns,
		    uint64_t now_ns, struct record_ring_command *command,
		    struct message_control *taken);

#endif
