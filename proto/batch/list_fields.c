#include "list_fields.h"

#include <stddef.h>

#include "message.h"

const struct event_field list_fields_module[LIST_FIELDS_MODULE] = {
	{"module path", offsetof(struct message_module, path), 4, WIRE_ID_MAX, false},
	{"module flags", offsetof(struct message_module, flags), 4, UINT32_MAX, false},
};

const struct event_field list_fields_module_more[LIST_FIELDS_MODULE_MORE] = {
	{"module owner", offsetof(struct message_module, owner), 4, UINT32_MAX, false},
};

const struct event_field list_fields_frame[LIST_FIELDS_FRAME] = {
	{"frame module", offsetof(struct message_frame, module), 4, WIRE_ID_MAX, false},
	{"frame offset", offsetof(struct message_frame, offset), 8, UINT64_MAX, false},
	{"frame code", offsetof(struct message_frame, code), 4, WIRE_ID_MAX, false},
};

const struct event_field list_fields_node[LIST_FIELDS_NODE] = {
	{"node parent", offsetof(struct message_node, parent), 4, WIRE_ID_MAX, false},
	{"node frame", offsetof(struct message_node, frame), 4, WIRE_ID_MAX, false},
};

const struct event_field list_fields_symbol[LIST_FIELDS_SYMBOL] = {
	{"symbol frame", offsetof(struct message_symbol, frame), 4, WIRE_ID_MAX, false},
	{"symbol name", offsetof(struct message_symbol, name), 4, WIRE_ID_MAX, false},
};

const struct event_field list_fields_code[LIST_FIELDS_CODE] = {
	{"code file", offsetof(struct message_code, file), 4, WIRE_ID_MAX, false},
	{"code name", offsetof(struct message_code, name), 4, WIRE_ID_MAX, false},
};

const struct event_field list_fields_ledger[LIST_FIELDS_LEDGER] = {
	{"ledger device_id", offsetof(struct ledger_entry, device_id), 4, UINT32_MAX, false},
	{"ledger reason", offsetof(struct ledger_entry, reason), 4, UINT32_MAX, false},
	{"ledger count", offsetof(struct ledger_entry, count), 8, UINT64_MAX, false},
	{"ledger ns", offsetof(struct ledger_entry, ns), 8, UINT64_MAX, false},
};

const struct event_field list_fields_stream[LIST_FIELDS_STREAM] = {
	{"stream context_id", offsetof(struct message_stream, context_id), 4, UINT32_MAX, false},
	{"stream stream_id", offsetof(struct message_stream, stream_id), 4, UINT32_MAX, false},
	{"stream name", offsetof(struct message_stream, name), 4, WIRE_ID_MAX, false},
	{"stream priority", offsetof(struct message_stream, priority), 4, UINT32_MAX, false},
	{"stream flags", offsetof(struct message_stream, flags), 4, UINT32_MAX, false},
};

const struct event_field list_fields_context[LIST_FIELDS_CONTEXT] = {
	{"context context_id", offsetof(struct message_context, context_id), 4, UINT32_MAX, false},
	{"context parent_id", offsetof(struct message_context, parent_id), 4, UINT32_MAX, false},
	{"context device_id", offsetof(struct message_context, device_id), 4, UINT32_MAX, false},
	{"context nr_multiprocessors", offsetof(struct message_context, nr_multiprocessors), 4,
	 UINT32_MAX, false},
	{"context flags", offsetof(struct message_context, flags), 4, UINT32_MAX, false},
};
