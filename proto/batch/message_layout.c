#include "message_layout.h"

#include <stddef.h>

#include "counter_fields.h"
#include "message.h"
#include "statistics_fields.h"
#include "telemetry_fields.h"

static const struct event_field module_fields[] = {
	{"module path", offsetof(struct message_module, path), 4, WIRE_ID_MAX, false},
	{"module flags", offsetof(struct message_module, flags), 4, UINT32_MAX, false},
};

const struct event_field message_layout_owner[1] = {
	{"module owner", offsetof(struct message_module, owner), 4, UINT32_MAX, false},
};

static const struct event_field frame_fields[] = {
	{"frame module", offsetof(struct message_frame, module), 4, WIRE_ID_MAX, false},
	{"frame offset", offsetof(struct message_frame, offset), 8, UINT64_MAX, false},
	{"frame code", offsetof(struct message_frame, code), 4, WIRE_ID_MAX, false},
};

static const struct event_field node_fields[] = {
	{"node parent", offsetof(struct message_node, parent), 4, WIRE_ID_MAX, false},
	{"node frame", offsetof(struct message_node, frame), 4, WIRE_ID_MAX, false},
};

static const struct event_field symbol_fields[] = {
	{"symbol frame", offsetof(struct message_symbol, frame), 4, WIRE_ID_MAX, false},
	{"symbol name", offsetof(struct message_symbol, name), 4, WIRE_ID_MAX, false},
};

static const struct event_field code_fields[] = {
	{"code file", offsetof(struct message_code, file), 4, WIRE_ID_MAX, false},
	{"code name", offsetof(struct message_code, name), 4, WIRE_ID_MAX, false},
};

static const struct event_field ledger_fields[] = {
	{"ledger device_id", offsetof(struct ledger_entry, device_id), 4, UINT32_MAX, false},
	{"ledger reason", offsetof(struct ledger_entry, reason), 4, UINT32_MAX, false},
	{"ledger count", offsetof(struct ledger_entry, count), 8, UINT64_MAX, false},
	{"ledger ns", offsetof(struct ledger_entry, ns), 8, UINT64_MAX, false},
};

static const struct event_field stream_fields[] = {
	{"stream context_id", offsetof(struct message_stream, context_id), 4, UINT32_MAX, false},
	{"stream stream_id", offsetof(struct message_stream, stream_id), 4, UINT32_MAX, false},
	{"stream name", offsetof(struct message_stream, name), 4, WIRE_ID_MAX, false},
	{"stream priority", offsetof(struct message_stream, priority), 4, UINT32_MAX, false},
	{"stream flags", offsetof(struct message_stream, flags), 4, UINT32_MAX, false},
};

static const struct event_field context_fields[] = {
	{"context context_id", offsetof(struct message_context, context_id), 4, UINT32_MAX, false},
	{"context parent_id", offsetof(struct message_context, parent_id), 4, UINT32_MAX, false},
	{"context device_id", offsetof(struct message_context, device_id), 4, UINT32_MAX, false},
	{"context nr_multiprocessors", offsetof(struct message_context, nr_multiprocessors), 4,
	 UINT32_MAX, false},
	{"context flags", offsetof(struct message_context, flags), 4, UINT32_MAX, false},
};

static const struct event_field communicator_fields[] = {
	{"communicator communicator_id", offsetof(struct communicator, communicator_id), 4,
	 COLLECTIVE_COMMUNICATORS_MAX, false},
	{"communicator key", offsetof(struct communicator, key), 8, UINT64_MAX, false},
	{"communicator parent_key", offsetof(struct communicator, parent_key), 8, UINT64_MAX,
	 false},
	{"communicator rank", offsetof(struct communicator, rank), 4, UINT32_MAX, false},
	{"communicator nr_ranks", offsetof(struct communicator, nr_ranks), 4, UINT32_MAX, false},
	{"communicator color", offsetof(struct communicator, color), 4, UINT32_MAX, false},
	{"communicator split", offsetof(struct communicator, split), 4, UINT32_MAX, false},
	{"communicator origin", offsetof(struct communicator, origin), 1, COMMUNICATOR_ORIGINS - 1,
	 false},
};

static const struct event_field collective_fields[] = {
	{"collective start_ns", offsetof(struct collective, start_ns), 8, UINT64_MAX, false},
	{"collective duration_ns", offsetof(struct collective, duration_ns), 8, UINT64_MAX, false},
	{"collective communicator_id", offsetof(struct collective, communicator_id), 4,
	 COLLECTIVE_COMMUNICATORS_MAX, false},
	{"collective tid", offsetof(struct collective, tid), 4, UINT32_MAX, false},
	{"collective sequence", offsetof(struct collective, sequence), 8, UINT64_MAX, false},
	{"collective function_sequence", offsetof(struct collective, function_sequence), 8,
	 UINT64_MAX, false},
	{"collective count", offsetof(struct collective, count), 8, UINT64_MAX, false},
	{"collective bytes", offsetof(struct collective, bytes), 8, UINT64_MAX, false},
	{"collective peer", offsetof(struct collective, peer), 4, UINT32_MAX, false},
	{"collective stack_id", offsetof(struct collective, stack_id), 4, WIRE_ID_MAX, false},
	{"collective group", offsetof(struct collective, group), 8, UINT64_MAX, false},
	{"collective stream", offsetof(struct collective, stream), 8, UINT64_MAX, false},
	{"collective function", offsetof(struct collective, function), 1, COLLECTIVE_FUNCTIONS - 1,
	 false},
	{"collective data_type", offsetof(struct collective, data_type), 1, UINT8_MAX, false},
	{"collective reduce_op", offsetof(struct collective, reduce_op), 1, UINT8_MAX, false},
	{"collective result", offsetof(struct collective, result), 4, UINT32_MAX, false},
	{"collective correlation_id", offsetof(struct collective, correlation_id), 4, UINT32_MAX,
	 false},
};

static const struct event_field placed_device_fields[] = {
	{"placed device_id", offsetof(struct message_placed_device, device_id), 4, UINT32_MAX,
	 false},
	{"device's numa_node", offsetof(struct message_placed_device, numa_node), 4, UINT32_MAX,
	 false},
	{"device's cpus", offsetof(struct message_placed_device, cpus), 4, WIRE_ID_MAX, false},
};

static const struct event_field placed_thread_fields[] = {
	{"placed tid", offsetof(struct message_placed_thread, tid), 4, UINT32_MAX, false},
	{"thread's numa_node", offsetof(struct message_placed_thread, numa_node), 4, UINT32_MAX,
	 false},
	{"thread's count", offsetof(struct message_placed_thread, count), 8, UINT64_MAX, false},
};

static const struct event_field link_fields[] = {
	{"link's device_id", offsetof(struct message_link, device_id), 4, UINT32_MAX, false},
	{"link", offsetof(struct message_link, link), 4, UINT32_MAX, false},
	{"bytes_per_second", offsetof(struct message_link, bytes_per_second), 8, UINT64_MAX, false},
};

static const struct event_field page_part_fields[] = {
	{"page part's table", offsetof(struct message_page_part, table), 4, UINT32_MAX, false},
	{"page part's number", offsetof(struct message_page_part, number), 4, UINT32_MAX, false},
	{"page_bytes", offsetof(struct message_page_part, page_bytes), 4, WIRE_PAGE_BYTES_MAX,
	 false},
	{"page part's at", offsetof(struct message_page_part, at), 4, WIRE_PAGE_BYTES_MAX, false},
	{"page part's size", offsetof(struct message_page_part, size), 4, WIRE_FRAME_MAX, false},
};

static const struct event_field page_table_fields[] = {
	{"page table", offsetof(struct message_page_table, table), 4, UINT32_MAX, false},
	{"nr_pages", offsetof(struct message_page_table, nr_pages), 4, UINT32_MAX, false},
};

/* The rows of a list lie in message.rows, and message.count says how many there are. */
#define LIST(message_, count_, rows_, fields_, max_)                                               \
	.count_name = #count_, .fields = fields_, .nr_fields = sizeof(fields_) / sizeof(*fields_), \
	.row_bytes = sizeof(*((struct message *)NULL)->message_.rows_), .max = max_,               \
	.count_at = offsetof(struct message, message_.count_),                                     \
	.rows_at = offsetof(struct message, message_.rows_)

/* A list of STACKS is an array of its own. Its rows have ids from a base on. */
#define STACKS(base_, count_, rows_, fields_, nr_elements_)                                        \
	LIST(stacks, count_, rows_, fields_, WIRE_ITEMS_MAX),                                      \
		.nr_elements = nr_elements_, .base_at = offsetof(struct message, stacks.base_),    \
		.base_name = #base_

static const struct message_list stacks_lists[] = {
	{STACKS(module_base, nr_modules, modules, module_fields, 6)},
	{STACKS(frame_base, nr_frames, frames, frame_fields, 5)},
	{STACKS(node_base, nr_nodes, nodes, node_fields, 4), .never_zero = &node_fields[1]},
	{LIST(stacks, nr_symbols, symbols, symbol_fields, WIRE_ITEMS_MAX), .nr_elements = 3,
	 .never_zero = &symbol_fields[0]},
	{STACKS(code_base, nr_codes, codes, code_fields, 4), .never_zero = &code_fields[1]},
};

static const struct message_list ledger_lists[] = {
	{LIST(ledger, nr_entries, entries, ledger_fields, WIRE_ITEMS_MAX)},
};

static const struct message_list statistics_lists[] = {
	{LIST(statistics, nr_calls, calls, statistics_fields_call, WIRE_ITEMS_MAX),
	 .never_zero = &statistics_fields_call[0]},
	{LIST(statistics, nr_configs, configs, statistics_fields_config, WIRE_ITEMS_MAX)},
	{LIST(statistics, nr_metrics, metrics, statistics_fields_metric, WIRE_ITEMS_MAX),
	 .never_zero = &statistics_fields_metric[4], .empty_is_left_out = true},
};

static const struct message_list streams_lists[] = {
	{LIST(streams, nr_streams, streams, stream_fields, WIRE_ITEMS_MAX)},
	{LIST(streams, nr_contexts, contexts, context_fields, WIRE_ITEMS_MAX)},
};

static const struct message_list samples_lists[] = {
	{LIST(samples, nr_samples, samples, event_fields_sample, WIRE_EVENTS_MAX),
	 .never_zero = &event_fields_sample[1]},
};

static const struct message_list collectives_lists[] = {
	{LIST(collectives, nr_communicators, communicators, communicator_fields, WIRE_ITEMS_MAX),
	 .never_zero = &communicator_fields[0], .empty_without_columns = true},
	{LIST(collectives, nr_collectives, collectives, collective_fields, WIRE_EVENTS_MAX),
	 .never_zero = &collective_fields[1], .empty_without_columns = true},
};

static const struct message_list placement_lists[] = {
	{LIST(placement, nr_devices, devices, placed_device_fields, WIRE_ITEMS_MAX)},
	{LIST(placement, nr_threads, threads, placed_thread_fields, WIRE_ITEMS_MAX)},
	{LIST(placement, nr_links, links, link_fields, WIRE_ITEMS_MAX),
	 .never_zero = &link_fields[2], .empty_is_left_out = true},
	{LIST(placement, nr_telemetry, telemetry, telemetry_fields, WIRE_ITEMS_MAX),
	 .nr_older_fields = {TELEMETRY_FIELDS_OLDER, TELEMETRY_FIELDS_OLD},
	 .empty_is_left_out = true},
	{LIST(placement, nr_counter_states, counter_states, counter_fields_state, WIRE_ITEMS_MAX),
	 .nr_older_fields = {COUNTER_FIELDS_OLD}, .empty_is_left_out = true},
	{LIST(placement, nr_counters, counters, counter_fields_sample, WIRE_ITEMS_MAX),
	 .never_zero = &counter_fields_sample[2], .empty_is_left_out = true},
};

static const struct message_list pages_lists[] = {
	{LIST(pages, nr_parts, parts, page_part_fields, WIRE_ITEMS_MAX),
	 .never_zero = &page_part_fields[4]},
	{LIST(pages, nr_tables, tables, page_table_fields, WIRE_ITEMS_MAX)},
};

#define LISTS(lists) sizeof(lists) / sizeof(*lists), lists

const struct message_layout *message_layout(uint64_t type)
{
	static const struct message_layout layouts[] = {
		[MESSAGE_HELLO] = {"HELLO", 8},
		[MESSAGE_WELCOME] = {"WELCOME", 6},
		[MESSAGE_REFUSE] = {"REFUSE", 4},
		[MESSAGE_STRINGS] = {"STRINGS", 5},
		[MESSAGE_STACKS] = {"STACKS", 8, LISTS(stacks_lists)},
		[MESSAGE_EVENTS] = {"EVENTS", 10},
		[MESSAGE_PAGES] = {"PAGES", 10, LISTS(pages_lists)},
		[MESSAGE_LEDGER] = {"LEDGER", 6, LISTS(ledger_lists)},
		[MESSAGE_CLOCK] = {"CLOCK", 10},
		[MESSAGE_ACK] = {"ACK", 5},
		[MESSAGE_PROCESS] = {"PROCESS", 16},
		[MESSAGE_PING] = {"PING", 3},
		[MESSAGE_PONG] = {"PONG", 3},
		[MESSAGE_BYE] = {"BYE", 3},
		[MESSAGE_STATISTICS] = {"STATISTICS", 8, LISTS(statistics_lists)},
		[MESSAGE_CONTROL] = {"CONTROL", 12},
		[MESSAGE_STREAM] = {"STREAM", 8, LISTS(streams_lists)},
		[MESSAGE_SAMPLES] = {"SAMPLES", 7, LISTS(samples_lists)},
		[MESSAGE_COLLECTIVES] = {"COLLECTIVES", 8, LISTS(collectives_lists)},
		[MESSAGE_FETCH] = {"FETCH", 12},
		[MESSAGE_PROOF] = {"PROOF", 3},
		[MESSAGE_PLACEMENT] = {"PLACEMENT", 8, LISTS(placement_lists)},
	};

	if (type >= sizeof(layouts) / sizeof(*layouts) || !layouts[type].name)
		return NULL;
	return &layouts[type];
}
