/* Translates a command to all agents of a job from the aggregator's clock to this node's. Pure; any thread. */
#ifndef JOB_ORDER_H
#define JOB_ORDER_H

#include <stdint.h>

#include "node-agent/publish/clock_exchange.h"
#include "proto/batch/message.h"
#include "proto/ring/record_ring.h"

/* *command gets the order with times by this node's CLOCK_REALTIME. *taken gets the answer for the aggregator, but for
 * nr_processes. estimate NULL: the clocks were not compared, and times stay as they are. realtime_offset_ns: this
 * node's CLOCK_REALTIME - CLOCK_MONOTONIC; now_ns: its CLOCK_MONOTONIC. */
void job_order_take(const struct message_control *order,
		    const struct clock_exchange_estimate *estimate, int64_t realtime_offset_ns,
		    uint64_t now_ns, struct record_ring_command *command,
		    struct message_control *taken);

#endif
