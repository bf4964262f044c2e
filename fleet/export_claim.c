#include "export_claim.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clickhouse.h"
#include "clickhouse_rows.h"

#include "aggregator/store/database.h"
#include "base/error_text.h"

struct claiming {
	struct export_server *server;
	struct export_journal *journal;
	const char *store_path;
	char *list;                          /* owns; of writers: "'0a','ff'" */
	char first[EXPORT_JOURNAL_WORD_MAX]; /* of them */
	char *source;
	char **error;
};

static int take_writer(struct statement *row, void *context)
{
	struct claiming *claiming = context;
	uint32_t size;
	const char *name = statement_bytes(row, 0, &size);
	char *list = NULL;

	if (size == 0 || size > 64)
		return -EPROTO;
	if (!*claiming->first)
		snprintf(claiming->first, sizeof(claiming->first), "%.*s", (int)size, name);
	if (asprintf(&list, "%s%s'%.*s'", claiming->list ? claiming->list : "",
		     claiming->list ? "," : "", (int)size, name) < 0)
		return -ENOMEM;
	free(claiming->list);
	claiming->list = list;
	return 0;
}

/* The aggregators that wrote the profile, by their random names. */
static int read_writers(struct claiming *claiming, const char *path)
{
	struct database *database;
	int status = database_open(path, true, &database, claiming->error);

	if (status)
		return status;
	status = database_rows(database, "SELECT lower(hex(writer)) FROM writers ORDER BY writer",
			       take_writer, claiming);
	if (!status && !claiming->list)
		status = -EPROTO;
	database_close(database);
	return status ? error_text_set(claiming->error, status,
				       "%s: its writers cannot be read: %s", path,
				       strerror(-status))
		      : 0;
}

/* ---- the server's table of writers */

static int insert_claim(struct claiming *claiming, const char *list, uint64_t number)
{
	const struct clickhouse_batch batch = {
		.table = "writers", .source = claiming->source, .number = number};
	struct clickhouse_text text;
	void *body = NULL;
	size_t size = 0;
	int status = clickhouse_text_begin(&text);

	for (const char *at = list; !status && *at;) {
		const size_t length = strspn(at, "0123456789abcdefghijklmnopqrstuvwxyz");

		if (length)
			fprintf(text.out, "{\"source\":\"%s\",\"writer\":\"%.*s\"}\n",
				claiming->source, (int)length, at);
		text.rows += length != 0;
		at += length ? length : 1;
	}
	int end = clickhouse_text_end(&text, &body, &size);
	status = status ? status : end;
	if (!status)
		status = clickhouse_insert(claiming->server->clickhouse, &batch, body, size,
					   claiming->error);
	free(body);
	return status;
}

/* Refuses a profile of which the server has rows that are not of this journal: they would be there twice. */
static int look_for_rows(struct claiming *claiming)
{
	uint64_t rows = 0;
	int status = clickhouse_count_writers(claiming->server->clickhouse, claiming->list,
					      claiming->source, &rows, claiming->error);

	if (status || rows == 0)
		return status;
	return error_text_set(
		claiming->error, -EEXIST,
		"%s: the server has %" PRIu64 " rows of this profile, or of its parts, that %s"
		" does not know: delete the rows whose source is of (SELECT source FROM "
		"writers WHERE writer IN (%s)), and export again",
		claiming->store_path, rows, export_journal_path(claiming->journal), claiming->list);
}

static int look_for_rivals(struct claiming *claiming)
{
	uint64_t rivals = 0;
	int status = clickhouse_count_claims(claiming->server->clickhouse, claiming->list,
					     claiming->source, &rivals, claiming->error);

	if (status || rivals == 0)
		return status;
	return error_text_set(
		claiming->error, -EEXIST,
		"%s: another export of this profile, or of its parts, has begun: if it "
		"does not go on, delete the rows of the table writers WHERE writer IN "
		"(%s), and export again",
		claiming->store_path, claiming->list);
}

/* Claims, and then looks for others that did: of two at once, one sees the other, or both do. A new source that saw one
 * takes its claim back, so the next look of one of them succeeds. */
static int claim_at_server(struct claiming *claiming, bool is_new, uint64_t number)
{
	int status = export_server_connect(claiming->server, claiming->error);

	if (!status)
		status = look_for_rows(claiming);
	if (!status)
		status = look_for_rivals(claiming);
	if (!status)
		status = insert_claim(claiming, claiming->list, number);
	if (status)
		return status;
	status = look_for_rivals(claiming);
	if (status == -EEXIST && is_new && !insert_claim(claiming, CLICKHOUSE_WITHDRAWN, 0))
		export_journal_write(claiming->journal, "source", "", claiming->error);
	return status;
}

/* ---- the journal */

/* Claims if the writers are not those of the last claim. From the first claim on the journal is of this server. */
static int claim_writers(struct claiming *claiming, const char *destination)
{
	char known[EXPORT_JOURNAL_WORD_MAX], now[24];
	uint64_t hash = 0xcbf29ce484222325ull;

	if (claiming->server->target->kind != EXPORT_CLICKHOUSE)
		return 0;
	for (const char *at = claiming->list; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
	snprintf(now, sizeof(now), "%016" PRIx64, hash);
	int status = export_journal_read(claiming->journal, "writers", known, claiming->error);
	if (status || strcmp(known, now) == 0)
		return status;
	status = claim_at_server(claiming, !*known, hash);
	if (!status)
		status = export_journal_write(claiming->journal, "destination", destination,
					      claiming->error);
	return status ? status
		      : export_journal_write(claiming->journal, "writers", now, claiming->error);
}

/* The source is known before the server hears of it, so a killed export goes on with it. */
static int begin_journal(struct claiming *claiming)
{
	uint64_t number[2];

	if (getrandom(number, sizeof(number), 0) != sizeof(number))
		return error_text_set(claiming->error, -EIO, "no random number");
	int status = export_journal_write(claiming->journal, "profile", claiming->first,
					  claiming->error);
	snprintf(claiming->source, EXPORT_JOURNAL_WORD_MAX, "%016" PRIx64 "%016" PRIx64, number[0],
		 number[1]);
	return status ? status
		      : export_journal_write(claiming->journal, "source", claiming->source,
					     claiming->error);
}

/* A source of an earlier version is the first writer itself. */
static int check_profile(struct claiming *claiming)
{
	char profile[EXPORT_JOURNAL_WORD_MAX];
	int status = export_journal_read(claiming->journal, "profile", profile, claiming->error);

	if (status)
		return status;
	return strstr(claiming->list, *profile ? profile : claiming->source)
		       ? 0
		       : error_text_set(claiming->error, -EINVAL, "%s is another profile's",
					export_journal_path(claiming->journal));
}

int export_claim_make(struct export_server *server, struct export_journal *journal,
		      const char *store_path, const char *read_path, const char *destination,
		      char source[static EXPORT_JOURNAL_WORD_MAX], char **error)
{
	struct claiming claiming = {.server = server,
				    .journal = journal,
				    .store_path = store_path,
				    .source = source,
				    .error = error};
	int status = export_journal_read(journal, "source", source, error);

	if (!status)
		status = read_writers(&claiming, read_path);
	if (!status)
		status = *source ? check_profile(&claiming) : begin_journal(&claiming);
	if (!status)
		status = claim_writers(&claiming, destination);
	free(claiming.list);
	return status;
}
