#include "store_streams.h"

#include <errno.h>
#include <stdlib.h>

#include "aggregator/profile/catalog.h"

enum command { PUT_STREAM, PUT_CONTEXT, COMMANDS };

static const char *const commands[COMMANDS] = {
	[PUT_STREAM] = "REPLACE INTO streams VALUES (?,?,?,?,?,?)",
	[PUT_CONTEXT] = "REPLACE INTO contexts VALUES (?,?,?,?,?,?)",
};

struct store_streams {
	struct statement *statements[COMMANDS];
};

#define RUN(streams, command, ...)                                                                 \
	statement_run((streams)->statements[command], (struct database_value[]){__VA_ARGS__},      \
		      sizeof((struct database_value[]){__VA_ARGS__}) /                             \
			      sizeof(struct database_value))
#define NUMBER(number) database_number(number)

int store_streams_create(struct database *database, struct store_streams **streams)
{
	int error = 0;

	*streams = calloc(1, sizeof(**streams));
	if (!*streams)
		return -ENOMEM;
	for (int i = 0; i < COMMANDS && !error; i++)
		error = statement_create(database, commands[i], &(*streams)->statements[i]);
	if (error) {
		store_streams_destroy(*streams);
		*streams = NULL;
	}
	return error;
}

void store_streams_destroy(struct store_streams *streams)
{
	if (!streams)
		return;
	for (int i = 0; i < COMMANDS; i++)
		statement_destroy(streams->statements[i]);
	free(streams);
}

static int write_stream(struct store_streams *streams, uint32_t id,
			const struct message_stream *stream)
{
	bool known = stream->flags & DEFINITION_STREAM_PRIORITY;

	return RUN(streams, PUT_STREAM, NUMBER(id), NUMBER(stream->context_id),
		   NUMBER(stream->stream_id), NUMBER(stream->name),
		   known ? database_signed(stream->priority)
			 : (struct database_value){.type = DATABASE_NULL},
		   NUMBER(stream->flags));
}

static int write_context(struct store_streams *streams, uint32_t id,
			 const struct message_context *context)
{
	return RUN(streams, PUT_CONTEXT, NUMBER(id), NUMBER(context->context_id),
		   NUMBER(context->parent_id), NUMBER(context->device_id),
		   NUMBER(context->nr_multiprocessors), NUMBER(context->flags));
}

int store_streams_write(struct store_streams *streams, uint32_t id,
			const struct roster_process *process)
{
	const struct stream_list *list = &process->streams;
	const struct context_list *contexts = &process->contexts;
	int error = 0;

	for (uint32_t i = 0; list->changed && i < list->nr_streams && !error; i++)
		error = write_stream(streams, id, &list->streams[i]);
	for (uint32_t i = 0; contexts->changed && i < contexts->nr_contexts && !error; i++)
		error = write_context(streams, id, &contexts->contexts[i]);
	return error;
}

/* ---- reading */

static int take_stream(struct statement *row, void *context)
{
	struct collection *collection = context;
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
	int error = stream_list_put(&process->streams, &stream);
	return error == -ENOSPC ? -EPROTO : error;
}

static int take_context(struct statement *row, void *context)
{
	struct collection *collection = context;
	struct roster_process *process =
		roster_process(collection->roster, statement_number32(row, 0));
	const struct message_context part = {
		.context_id = statement_number32(row, 1),
		.parent_id = statement_number32(row, 2),
		.device_id = statement_number32(row, 3),
		.nr_multiprocessors = statement_number32(row, 4),
		.flags = statement_number32(row, 5),
	};

	if (!process)
		return -EPROTO;
	int error = context_list_put(&process->contexts, &part);
	return error == -ENOSPC ? -EPROTO : error;
}

int store_streams_load(struct database *database, struct collection *collection)
{
	int error = database_rows(database,
				  "SELECT * FROM streams ORDER BY process, context_id, stream_id",
				  take_stream, collection);

	return error ? error
		     : database_rows(database,
				     "SELECT * FROM contexts ORDER BY process, context_id",
				     take_context, collection);
}
