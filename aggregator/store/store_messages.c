#include "store_messages.h"

#include "aggregator/profile/message_log.h"
#include "aggregator/profile/message_replay.h"
#include "aggregator/profile/raw_log.h"

enum command { PUT_MESSAGES, CLEAR_MESSAGES, COMMANDS };

const char *const store_messages_commands[] = {
	[PUT_MESSAGES] = "INSERT INTO messages VALUES (NULL,?,?)",
	[CLEAR_MESSAGES] = "DELETE FROM messages",
	[COMMANDS] = NULL,
};

int store_messages_write(struct statement_set *set, const struct collection *collection)
{
	uint32_t size;
	const uint8_t *bytes = message_log_bytes(collection->messages, &size);

	return size ? RUN(set, PUT_MESSAGES, NUMBER(raw_log_is_kept(collection->raw)),
			  database_bytes(bytes, size))
		    : 0;
}

int store_messages_clear(struct statement_set *set)
{
	return statement_run(set->statements[CLEAR_MESSAGES], NULL, 0);
}

struct load {
	struct collection *collection;
	bool any;
};

static int take_messages(struct statement *row, void *context)
{
	struct load *load = context;
	uint32_t size;
	const uint8_t *bytes = statement_bytes(row, 1, &size);

	load->any = true;
	if (statement_number(row, 0))
		raw_log_start(load->collection->raw);
	return message_replay(load->collection, bytes, size);
}

int store_messages_load(struct database *database, struct collection *collection, bool *any)
{
	struct load load = {collection, false};
	int error = database_rows(database, "SELECT raw, data FROM messages ORDER BY id",
				  take_messages, &load);

	*any = load.any;
	return error;
}
