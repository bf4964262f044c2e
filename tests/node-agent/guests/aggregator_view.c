#include "aggregator_view.h"

#include "tests/support/cmocka_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/batch/message_seq.h"

void aggregator_view_init(struct aggregator_view *view)
{
	view->router = router_fixture_create("tcp://127.0.0.1:*");
}

void aggregator_view_fini(struct aggregator_view *view)
{
	router_fixture_destroy(view->router);
	for (uint32_t i = 0; i <= AGGREGATOR_VIEW_STRINGS; i++)
		free(view->strings[i]);
}

static void take_strings(struct aggregator_view *view, const struct message_strings *strings)
{
	assert_int_equal(strings->base, view->nr_strings + 1);
	for (uint32_t i = 0; i < strings->count; i++) {
		assert_true(view->nr_strings < AGGREGATOR_VIEW_STRINGS);
		view->strings[++view->nr_strings] =
			strndup(strings->strings[i].data, strings->strings[i].size);
	}
}

static void take_stacks(struct aggregator_view *view, const struct message_stacks *stacks)
{
	view->nr_frames += stacks->nr_frames;
	for (uint32_t i = 0; i < stacks->nr_frames; i++)
		view->nr_native += stacks->frames[i].code == MESSAGE_FRAME_NATIVE;
	view->nr_nodes += stacks->nr_nodes;
	view->nr_symbols += stacks->nr_symbols;
	for (uint32_t i = 0; i < stacks->nr_symbols; i++) {
		assert_true(stacks->symbols[i].frame <= view->nr_frames);
		assert_true(stacks->symbols[i].name <= view->nr_strings);
		if (stacks->symbols[i].name)
			view->nr_named++;
	}
}

struct aggregator_view_process *aggregator_view_process(struct aggregator_view *view,
							uint32_t process_id)
{
	assert_in_range(process_id, 1, AGGREGATOR_VIEW_PROCESSES);
	return &view->processes[process_id];
}

static void take_process(struct aggregator_view *view, const struct message_process *process)
{
	struct aggregator_view_process *own = aggregator_view_process(view, process->process_id);

	assert_int_equal(own->state, PROCESS_RUNNING);
	own->pid = process->pid;
	own->state = process->state;
	own->rank = process->rank;
	own->nr_notices = process->nr_notices;
	if (process->nr_notices > 0)
		snprintf(own->notice, sizeof(own->notice), "%s",
			 view->strings[process->notices[process->nr_notices - 1]]);
	own->nr_devices = process->nr_devices;
	if (process->nr_devices > 0)
		own->device = process->devices[0];
	assert_in_range(process->command, 1, view->nr_strings);
	if (process->job)
		snprintf(own->job, sizeof(own->job), "%s", view->strings[process->job]);
	snprintf(own->command, sizeof(own->command), "%s", view->strings[process->command]);
}

static void take_events(struct aggregator_view *view, const struct message_events *events)
{
	struct aggregator_view_process *own = aggregator_view_process(view, events->process_id);

	assert_true(own->pid > 0); /* PROCESS came before */
	assert_int_equal(own->state, PROCESS_RUNNING);
	own->launches += events->nr_launches;
	own->records += events->nr_gpu;
	for (uint32_t i = 0; i < events->nr_launches; i++)
		assert_true(events->launches[i].stack_id <= view->nr_nodes);
	for (uint32_t i = 0; i < events->nr_gpu; i++)
		assert_true(events->gpu[i].name_id <= view->nr_strings);
}

static void take_ledger(struct aggregator_view *view, const struct message_ledger *ledger)
{
	if (ledger->process_id == 0)
		return; /* the agent's own, with its cost */

	struct aggregator_view_process *own = aggregator_view_process(view, ledger->process_id);

	assert_int_equal(own->state, PROCESS_RUNNING);
	memset(own->ledger, 0, sizeof(own->ledger));
	for (uint32_t i = 0; i < ledger->nr_entries; i++)
		own->ledger[ledger->entries[i].reason] += ledger->entries[i].count;
}

bool aggregator_view_serve(struct aggregator_view *view, int wait_ms)
{
	const struct message *message = router_fixture_receive(view->router, wait_ms);
	uint64_t seq = message ? message_seq_get(message) : 0;

	if (!message)
		return false;
	if (message->type == MESSAGE_HELLO) {
		assert_memory_equal(message->hello.node.data, "node01", 6);
		router_fixture_welcome(view->router, view->seq, 8, 1u << 20);
	}
	if (message->type == MESSAGE_PING) {
		struct message pong = {.type = MESSAGE_PONG, .ping = message->ping};

		router_fixture_send(view->router, &pong);
	}
	if (seq == 0 || seq <= view->seq)
		return true;
	assert_int_equal(seq, view->seq + 1);
	view->seq = seq;
	assert_false(view->bye);
	if (message->type == MESSAGE_STRINGS)
		take_strings(view, &message->strings);
	else if (message->type == MESSAGE_STACKS)
		take_stacks(view, &message->stacks);
	else if (message->type == MESSAGE_PROCESS)
		take_process(view, &message->process);
	else if (message->type == MESSAGE_EVENTS)
		take_events(view, &message->events);
	else if (message->type == MESSAGE_LEDGER)
		take_ledger(view, &message->ledger);
	else if (message->type == MESSAGE_BYE)
		view->bye = true;
	router_fixture_ack(view->router, seq);
	return true;
}

void aggregator_view_serve_until_ended(struct aggregator_view *view, uint32_t processes)
{
	uint32_t ended;

	do {
		assert_true(aggregator_view_serve(view, AGGREGATOR_VIEW_WAIT_MS));
		ended = 0;
		for (uint32_t i = 1; i <= AGGREGATOR_VIEW_PROCESSES; i++)
			ended += view->processes[i].state != PROCESS_RUNNING;
	} while (ended < processes);
}

void aggregator_view_serve_until_bye(struct aggregator_view *view)
{
	while (!view->bye)
		assert_true(aggregator_view_serve(view, AGGREGATOR_VIEW_WAIT_MS));
}
