#include "store_streams.h"

#include <errno.h>

#include "statement_set.h"
#include "store_table.h"

#include "aggregator/profile/catalog.h"

enum command { PUT_STREAM, PUT_CONTEXT, COMMANDS };

const char *const store_streams_commands[] = {
	[PUT_STREAM] = "REPLACE INTO streams VALUES (?,?,?,?,?,?)",
	[PUT_CONTEXT] = "REPLACE INTO contexts VALUES (?,?,?,?,?,?)",
	[COMMANDS] = NULL,
};

static int write_stream(struct statement_set *set, uint32_t id, const struct message_stream *stream)
{
	bool known = stream->flags & DEFINITION_STREAM_PRIORITY;

	return RUN(set, PUT_STREAM, NUMBER(id), NUMBER(stream->context_id),
		   NUMBER(stream->stream_id), NUMBER(stream->name),
		   known ? database_signed(stream->priority)
			 : (struct database_value){.type = DATABASE_NULL},
		   NUMBER(stream->flags));
}

static int write_context(struct statement_set *set, uint32_t id,
			 const struct message_context *context)
{
	return RUN(set, PUT_CONTEXT, NUMBER(id), NUMBER(context->context_id),
		   NUMBER(context->parent_id), NUMBER(context->device_id),
		   NUMBER(context->nr_multiprocessors), NUMBER(context->flags));
}

int store_streams_write(struct statement_set *set, uint32_t id,
			const struct roster_process *process)
{
	const struct stream_list *list = &process->streams;
	const struct context_list *contexts = &process->contexts;
	int error = 0;

	for (uint32_t i = 0; list->changed && i < list->nr_streams && !error; i++)
		error = write_stream(set, id, &list->streams[i]);
	for (uint32_t i = 0; contexts->changed && i < contexts->nr_contexts && !error; i++)
		error = write_context(set, id, &contexts->contexts[i]);
	return error;
}

/* ---- reading */

static int take_stream(struct collection *collection, struct statement *row)
{
	struct roster_process *process =
		roster_process(collection->roster, statement_number32(row, 0));
	const struct message_stream stream = {
		.context_id = statement_number32(row, 1),
		.stream_id = statement_number32(row, 2),
		.name = statement_number32(row, 3),
		.priority = statement_null(row, 4) ? 0 : (int32_t)statement_number(row, 4),
		.flags = statement_number32(row, 5),
	};

	if (!process || stream.name > catalog_size(collection->catalog).strings)
		return -EPROTO;
	return stream_list_put(&process->streams, &stream);
}

static int take_context(struct collection *collection, struct statement *row)
{
	struct roster_process *process =
		roster_process(collection->roster, statement_number32(row, 0));
	const struct message_context context = {
		.context_id = statement_number32(row, 1),
		.parent_id = statement_number32(row, 2),
		.device_id = statement_number32(row, 3),
		.nr_multiprocessors = statement_number32(row, 4),
		.flags = statement_number32(row, 5),
	};

	return process ? context_list_put(&process->contexts, &context) : -EPROTO;
}

int store_streams_load(struct database *database, struct collection *collection)
{
	static const struct store_table tables[] = {
		{"SELECT * FROM streams ORDER BY process, context_id, stream_id", take_stream},
		{"SELECT * FROM contexts ORDER BY process, context_id", take_context},
	};

	return store_table_load(database, collection, tables, sizeof(tables) / sizeof(tables[0]));
}
