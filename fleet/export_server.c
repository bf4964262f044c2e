#include "export_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>

#include "clickhouse.h"
#include "pyroscope.h"

#include "base/error_text.h"
#include "base/log.h"

#define STACKS_TABLE "stacks"
static const char *const tables[] = {[EXPORT_WORK] = "work", [EXPORT_LOSSES] = "losses"};

int export_server_connect(struct export_server *server, char **error)
{
	const struct export_target *target = server->target;
	int status = 0;

	if (server->clickhouse || server->pyroscope)
		return 0;
	if (target->kind == EXPORT_PYROSCOPE)
		status = pyroscope_open(target, &server->pyroscope, error);
	else
		status = clickhouse_open(target, &server->clickhouse, error);
	if (status)
		export_server_close(server);
	return status;
}

void export_server_close(struct export_server *server)
{
	clickhouse_close(server->clickhouse);
	pyroscope_close(server->pyroscope);
	server->clickhouse = NULL;
	server->pyroscope = NULL;
}

/* ---- ClickHouse */

/* A batch that was sent before may be there: the answer was lost, or this process was killed. *there: it is. */
static int look_for(struct export_server *server, const struct clickhouse_batch *batch,
		    uint64_t rows, bool *there, char **error)
{
	uint64_t found = 0;
	int status = clickhouse_count(server->clickhouse, batch, &found, error);

	*there = found == rows;
	if (!status && found && found != rows)
		return error_text_set(error, -EPROTO,
				      "%s: table %s has %" PRIu64 " rows of batch %" PRIu64
				      " of %s in place of %" PRIu64
				      ": delete them, and export again",
				      server->target->url, batch->table, found, batch->number,
				      batch->source, rows);
	return status;
}

static int insert(struct export_server *server, struct export_journal *journal,
		  const struct export_batch *open, const char *source, char **error)
{
	struct clickhouse_batch batch = {
		.table = STACKS_TABLE, .source = source, .number = open->number};
	bool there = false;
	int status = 0;

	/* Stacks may come several times: the table keeps each once. */
	if (open->stacks)
		status = clickhouse_insert(server->clickhouse, &batch, open->stacks,
					   open->stacks_size, error);
	batch.table = tables[open->kind];
	if (!status && open->was_tried)
		status = look_for(server, &batch, open->rows, &there, error);
	if (!status && !there)
		status = export_journal_try(journal, error);
	if (!status && !there)
		status = clickhouse_insert(server->clickhouse, &batch, open->body, open->body_size,
					   error);
	return status;
}

/* ---- Pyroscope */

/* Nobody can ask whether a profile is there. What the server refused is forgotten: the next round makes another
 * batch, of another time, since a server refuses what is an hour old. */
static int push(struct export_server *server, struct export_journal *journal,
		const struct export_batch *open, const char *store_path, char **error)
{
	bool refused = false;
	int status = export_journal_try(journal, error);

	if (!status && open->was_tried)
		log_warning("%s: %s may count %" PRIu64
			    " rows twice, because the answer to their push was lost",
			    store_path, server->target->url, open->rows);
	if (!status)
		status = pyroscope_push(server->pyroscope, open->body, open->body_size, &refused,
					error);
	if (status && refused)
		export_journal_forget(journal, error); /* if it fails, the batch stays */
	return status;
}

int export_server_deliver(struct export_server *server, struct export_journal *journal,
			  const struct export_batch *open, const char *source,
			  const char *store_path, char **error)
{
	int status = export_server_connect(server, error);

	if (!status && server->target->kind == EXPORT_PYROSCOPE)
		status = push(server, journal, open, store_path, error);
	else if (!status)
		status = insert(server, journal, open, source, error);
	return status ? status : export_journal_delivered(journal, error);
}
