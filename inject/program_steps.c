#include "program_steps.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "inject/base/definition_writer.h"
#include "inject/base/lifecycle.h"
#include "inject/window/capture_window.h"
#include "proto/definition.h"

#define NAME "flamegrid_step"

static _Atomic uint64_t count;
static _Atomic uint32_t nr_begun;
static atomic_bool is_waiting; /* a step began outside of windows */
static uint64_t said;          /* the helper's */

static bool is_captured(void)
{
	return lifecycle_state() == LIFECYCLE_ON && capture_window_is_open();
}

void program_steps_end(void)
{
	if (atomic_exchange(&is_waiting, false) && is_captured())
		atomic_fetch_add(&count, 1);
}

uint32_t program_steps_begin(void)
{
	const uint32_t number = atomic_fetch_add(&nr_begun, 1) + 1;

	if (is_captured())
		atomic_fetch_add(&count, 1);
	else
		atomic_store(&is_waiting, true);
	return number;
}

void program_steps_publish(struct definition_writer *definitions)
{
	const struct definition_api_statistic head = {
		.domain = DEFINITION_STEP_DOMAIN,
		.cbid = DEFINITION_STEP_CBID,
		.count = atomic_load(&count),
	};

	if (head.count != said &&
	    definition_writer_put(definitions, DEFINITION_API_STATISTIC, &head, sizeof(head), NAME,
				  sizeof(NAME) - 1))
		said = head.count;
}
