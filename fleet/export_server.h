/* The server of a target, which is connected to when something is to be said. Used by one thread. */
#ifndef EXPORT_SERVER_H
#define EXPORT_SERVER_H

#include "export_journal.h"
#include "export_target.h"

struct clickhouse;
struct pyroscope;

/* Zeroed but for the target, which is borrowed until close: not connected. */
struct export_server {
	const struct export_target *target;
	struct clickhouse
		*clickhouse; /* owns, as the next one; NULL: not connected, or another kind */
	struct pyroscope *pyroscope;
};

/* 0 or -errno with *error one line, as below: the caller owns it (free()). Does nothing if it is connected. */
int export_server_connect(struct export_server *server, char **error);
void export_server_close(struct export_server *server);

/* Delivers the journal's open batch, whose rows are of a source; store_path is the profile's, for messages.
 * ClickHouse has it once. Pyroscope has it twice if an earlier answer was lost, which is logged; a batch that it
 * refuses is forgotten. Then the journal notes that it is delivered. -EIO: the server did not answer. */
int export_server_deliver(struct export_server *server, struct export_journal *journal,
			  const struct export_batch *open, const char *source,
			  const char *store_path, char **error);

#endif
