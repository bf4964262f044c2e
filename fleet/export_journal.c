#include "export_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "export_schema.h"

#include "aggregator/store/database.h"
#include "base/error_text.h"

#define VERSION 1

#define KEY "kind, place, work, stack"
#define ALL KEY ", count, ns, bytes"

/* All sums of a round, and then the rows that differ, in the order of their batches. */
static const char round_tables[] =
	"BEGIN IMMEDIATE;"
	"DROP TABLE IF EXISTS temp.now; DROP TABLE IF EXISTS temp.nodes; DROP TABLE IF EXISTS "
	"temp.delta;"
	"CREATE TEMP TABLE now (kind INTEGER, place INTEGER, work INTEGER, stack INTEGER,"
	" count INTEGER, ns INTEGER, bytes INTEGER, leaf INTEGER, PRIMARY KEY (" KEY ")) WITHOUT "
	"ROWID;"
	"CREATE TEMP TABLE nodes (stack INTEGER PRIMARY KEY, leaf INTEGER);"
	"CREATE TEMP TABLE delta (id INTEGER PRIMARY KEY, kind INTEGER, place INTEGER, work "
	"INTEGER,"
	" stack INTEGER, count INTEGER, ns INTEGER, bytes INTEGER,"
	" leaf INTEGER, more_count INTEGER, more_ns INTEGER, more_bytes INTEGER);";

/* A label's first member ends at its comma. */
#define ACCOUNT "substr(CAST(w.text AS TEXT), 1, instr(CAST(w.text AS TEXT), ','))"
#define NO_IDLE "instr(CAST(w.text AS TEXT), '\"plane\":\"idle\"') != 1"

static const char find_delta[] =
	"INSERT INTO temp.delta (" ALL ", leaf, more_count, more_ns, more_bytes)"
	" SELECT * FROM (SELECT n.kind AS kind, n.place, n.work, n.stack, n.count, n.ns, n.bytes,"
	"  n.leaf,"
	"  n.count - ifnull(s.count, 0) AS c, n.ns - ifnull(s.ns, 0) AS t,"
	"  n.bytes - ifnull(s.bytes, 0) AS b"
	"  FROM temp.now n LEFT JOIN sent s USING (" KEY ")"
	"  UNION ALL SELECT s.kind, s.place, s.work, s.stack, 0, 0, 0, 0, -s.count, -s.ns, -s.bytes"
	"  FROM sent s LEFT JOIN temp.now n USING (" KEY ") WHERE n.kind IS NULL)"
	" WHERE c != 0 OR t != 0 OR b != 0 ORDER BY kind;"
	"COMMIT;";

/* The same if nothing may fall: within a place and account, what keys lost is taken from what the first ones gained. A
 * key that lost something keeps its delivered sums, so the next round finds the same loss again. */
#define LOST(sum) "sum(max(-" sum ", 0)) OVER account"
#define GAINED(sum)                                                                                \
	"sum(max(" sum ", 0)) OVER (account ORDER BY work, stack ROWS UNBOUNDED PRECEDING)"
#define MORE(sum) "max(min(" sum ", " GAINED(sum) " - " LOST(sum) "), 0)"
static const char find_growth[] =
	"INSERT INTO temp.delta (" ALL ", leaf, more_count, more_ns, more_bytes)"
	" SELECT kind, place, work, stack, count + c, ns + t, bytes + b, leaf, c, t, b FROM ("
	"  SELECT " ALL ", leaf, " MORE("c") " AS c, " MORE("t") " AS t, " MORE(
		"b") " AS b FROM ("
		     "   SELECT n.kind AS kind, n.place AS place, n.work AS work, n.stack AS stack,"
		     "    ifnull(s.count, 0) AS count, ifnull(s.ns, 0) AS ns, ifnull(s.bytes, 0) "
		     "AS bytes, n.leaf AS leaf,"
		     "    n.count - ifnull(s.count, 0) AS c, n.ns - ifnull(s.ns, 0) AS t,"
		     "    n.bytes - ifnull(s.bytes, 0) AS b, " ACCOUNT " AS account"
		     "   FROM temp.now n LEFT JOIN sent s USING (" KEY
		     ") JOIN labels w ON w.id = n.work"
		     "   UNION ALL SELECT s.kind, s.place, s.work, s.stack, 0, 0, 0, 0, -s.count, "
		     "-s.ns, -s.bytes,"
		     "    " ACCOUNT " FROM sent s LEFT JOIN temp.now n USING (" KEY ")"
		     "   JOIN labels w ON w.id = s.work WHERE n.kind IS NULL)"
		     "  WINDOW account AS (PARTITION BY kind, place, account))"
		     " WHERE c != 0 OR t != 0 OR b != 0 ORDER BY kind, place;"
		     "COMMIT;";

/* Accounts that fell, and all keys that fell. Idle time falls when a late record fills a gap. */
static const char accounts_fell[] =
	"SELECT EXISTS (SELECT 1 FROM temp.delta d JOIN labels w ON w.id = d.work WHERE d.kind = 0"
	" AND " NO_IDLE " GROUP BY " ACCOUNT " HAVING total(more_count) < 0 OR total(more_ns) < 0)";
static const char growth_fell[] =
	"SELECT EXISTS (SELECT 1 FROM (SELECT n.kind AS kind, n.work AS work,"
	" n.count - ifnull(s.count, 0) AS c, n.ns - ifnull(s.ns, 0) AS t"
	" FROM temp.now n LEFT JOIN sent s USING (" KEY ")"
	" UNION ALL SELECT s.kind, s.work, -s.count, -s.ns"
	" FROM sent s LEFT JOIN temp.now n USING (" KEY ") WHERE n.kind IS NULL) d"
	" JOIN labels w ON w.id = d.work WHERE d.kind = 0 AND " NO_IDLE " GROUP BY " ACCOUNT
	" HAVING total(c) < 0 OR total(t) < 0)";
static const char keys_fell[] = "SELECT EXISTS (SELECT 1 FROM temp.delta WHERE kind = 0"
				" AND (more_count < 0 OR more_ns < 0 OR more_bytes < 0))";

/* Ids stay without gaps. */
static const char withhold[] =
	"BEGIN IMMEDIATE;"
	"DELETE FROM temp.delta WHERE kind = 0 OR more_count < 0 OR more_ns < 0;"
	"UPDATE temp.delta SET id = id - (SELECT max(id) FROM temp.delta) - 1;"
	"UPDATE temp.delta SET id = (SELECT count(*) FROM temp.delta d WHERE d.id <= "
	"temp.delta.id);"
	"COMMIT;";

/* A sum that is 0 again is as good as none. */
static const char delivered[] =
	"BEGIN IMMEDIATE;"
	"INSERT OR REPLACE INTO sent (" ALL ") SELECT " ALL " FROM pending;"
	"DELETE FROM sent WHERE (" KEY ") IN"
	" (SELECT " KEY " FROM pending WHERE count = 0 AND ns = 0 AND bytes = 0);"
	"INSERT OR IGNORE INTO stacks SELECT stack FROM pending WHERE stack != 0;"
	"DELETE FROM pending; DELETE FROM batch;"
	"COMMIT;";

struct export_journal {
	struct database *database;
	struct statement *find_label, *add_label, *add_row, *add_node;
	char *path;
	int64_t next; /* of the round's delta */
};

static int refuse(const struct export_journal *journal, const char *why, char **error)
{
	return error_text_set(
		error, -EPROTO,
		"%s: this journal is damaged (%s), so nothing is sent: delete it, and "
		"export again (docs/how-to/fleet.md says what comes of that)",
		journal->path, why);
}

/* status: of the database, or of lack of memory. */
static int fail(const struct export_journal *journal, int status, char **error)
{
	if (status == -EPROTO)
		return refuse(journal, database_error(journal->database), error);
	return status ? error_text_set(error, status, "%s: %s", journal->path,
				       status == -ENOMEM ? strerror(ENOMEM)
							 : database_error(journal->database))
		      : 0;
}

static int execute(struct export_journal *journal, const char *sql, char **error)
{
	int status = database_execute(journal->database, sql);

	if (status)
		database_roll_back(journal->database);
	return fail(journal, status, error);
}

static int check(const struct export_journal *journal, const char *sql, char **error)
{
	int64_t fits = 0;
	int status = database_query_number(journal->database, sql, &fits);

	return status || fits ? fail(journal, status, error)
			      : refuse(journal, "its checksums do not fit", error);
}

/* ---- life */

static int prepare(struct export_journal *journal, char **error)
{
	int64_t version;
	int status = database_query_number(journal->database, "PRAGMA user_version", &version);

	if (status == -EBUSY)
		return error_text_set(error, status,
				      "%s: another process is exporting this profile",
				      journal->path);
	if (status)
		return fail(journal, status, error);
	if (version > VERSION)
		return error_text_set(error, -EPROTO, "%s: a newer version made this file",
				      journal->path);
	/* The lock is kept until the file is closed. */
	status = database_execute(journal->database, "PRAGMA locking_mode = EXCLUSIVE;"
						     "PRAGMA synchronous = FULL;"
						     "PRAGMA recursive_triggers = ON;");
	if (!status)
		status = database_add_checksum(journal->database);
	/* Takes the lock in any case. */
	if (!status)
		status = database_execute(journal->database,
					  version ? "BEGIN IMMEDIATE; COMMIT;" : export_schema);
	if (status == -EBUSY)
		return error_text_set(error, status,
				      "%s: another process is exporting this profile",
				      journal->path);
	return status ? fail(journal, status, error)
		      : check(journal, export_schema_heads_fit, error);
}

int export_journal_open(const char *store_path, const char *suffix, struct export_journal **journal,
			char **error)
{
	*journal = calloc(1, sizeof(**journal));
	if (!*journal)
		return -ENOMEM;
	if (asprintf(&(*journal)->path, "%s%s", store_path, suffix) < 0) {
		(*journal)->path = NULL;
		return -ENOMEM;
	}
	/* As the store, nobody else reads it. */
	mode_t mask = umask(0077);
	int status = database_open((*journal)->path, false, &(*journal)->database, error);
	if (!status)
		status = prepare(*journal, error);
	umask(mask);
	return status;
}

void export_journal_close(struct export_journal *journal)
{
	if (!journal)
		return;
	statement_destroy(journal->find_label);
	statement_destroy(journal->add_label);
	statement_destroy(journal->add_row);
	statement_destroy(journal->add_node);
	database_close(journal->database);
	free(journal->path);
	free(journal);
}

const char *export_journal_path(const struct export_journal *journal)
{
	return journal->path;
}

/* ---- words */

int export_journal_read(struct export_journal *journal, const char *name, char *word, char **error)
{
	const struct database_value value = {
		.type = DATABASE_TEXT, .size = (uint32_t)strlen(name), .bytes = name};
	struct statement *statement;
	uint32_t size = 0;

	*word = '\0';
	int status = statement_create(journal->database, "SELECT word FROM words WHERE name = ?1",
				      &statement);
	if (status)
		return fail(journal, status, error);
	status = statement_start(statement, &value, 1);
	if (status == 1) {
		const void *bytes = statement_bytes(statement, 0, &size);

		status = size < EXPORT_JOURNAL_WORD_MAX
				 ? 0
				 : refuse(journal, "it makes no sense", error);
		if (!status && size)
			memcpy(word, bytes, size);
		word[status ? 0 : size] = '\0';
	}
	if (status)
		status = fail(journal, status, error);
	statement_destroy(statement);
	return status;
}

int export_journal_write(struct export_journal *journal, const char *name, const char *word,
			 char **error)
{
	const struct database_value values[] = {
		{.type = DATABASE_TEXT, .size = (uint32_t)strlen(name), .bytes = name},
		{.type = DATABASE_TEXT, .size = (uint32_t)strlen(word), .bytes = word}};
	struct statement *statement;
	int status = statement_create(journal->database,
				      "INSERT OR REPLACE INTO words VALUES (?1, ?2)", &statement);

	if (!status)
		status = statement_run(statement, values, 2);
	if (status)
		status = fail(journal, status, error);
	statement_destroy(statement);
	return status;
}

/* ---- a round */

static int make_statement(struct export_journal *journal, struct statement **statement,
			  const char *sql)
{
	statement_destroy(*statement);
	return statement_create(journal->database, sql, statement);
}

int export_journal_begin(struct export_journal *journal, char **error)
{
	int status = check(journal, export_schema_sums_fit, error);

	if (!status)
		status = execute(journal, round_tables, error);
	journal->next = 1;
	if (status)
		return status;
	status = make_statement(journal, &journal->find_label,
				"SELECT id FROM labels WHERE text = ?1");
	if (!status)
		status = make_statement(journal, &journal->add_label,
					"INSERT INTO labels (text) VALUES (?1) RETURNING id");
	if (!status)
		status = make_statement(
			journal, &journal->add_row,
			"INSERT INTO temp.now VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
			" ON CONFLICT DO UPDATE SET count = min(count + ?5, 9223372036854775807),"
			" ns = min(ns + ?6, 9223372036854775807),"
			" bytes = min(bytes + ?7, 9223372036854775807)");
	if (!status)
		status = make_statement(journal, &journal->add_node,
					"INSERT OR IGNORE INTO temp.nodes VALUES (?1, ?2)");
	return fail(journal, status, error);
}

int export_journal_label(struct export_journal *journal, const char *text, size_t size, int64_t *id,
			 char **error)
{
	const struct database_value value = database_bytes(text, size);
	int status = statement_start(journal->find_label, &value, 1);

	if (status == 1) {
		*id = statement_signed(journal->find_label, 0);
		statement_reset(journal->find_label);
		return 0;
	}
	if (status == 0)
		status = statement_start(journal->add_label, &value, 1);
	if (status == 1) {
		*id = statement_signed(journal->add_label, 0);
		statement_reset(journal->add_label);
		return 0;
	}
	return status ? fail(journal, status, error) : refuse(journal, "it makes no sense", error);
}

int export_journal_add(struct export_journal *journal, const struct export_row *row, uint32_t leaf,
		       char **error)
{
	const struct database_value values[] = {
		database_number(row->kind),  database_signed(row->place),
		database_signed(row->work),  database_number(row->stack),
		database_amount(row->count), database_amount(row->ns),
		database_amount(row->bytes), database_number(leaf),
	};
	const struct database_value of_stack[] = {database_number(row->stack),
						  database_number(leaf)};
	int status = statement_run(journal->add_row, values, 8);

	if (!status && row->stack)
		status = statement_run(journal->add_node, of_stack, 2);
	return fail(journal, status, error);
}

int export_journal_end(struct export_journal *journal, bool is_damaged, bool only_grows,
		       uint64_t *rows, bool *fell, char **error)
{
	int64_t count = 0, falls = 0;
	int status = execute(journal, only_grows ? find_growth : find_delta, error);

	if (!status)
		status = fail(journal,
			      database_query_number(journal->database,
						    only_grows   ? growth_fell
						    : is_damaged ? keys_fell
								 : accounts_fell,
						    &falls),
			      error);
	*fell = falls != 0;
	if (!status && falls)
		status = execute(journal, withhold, error);
	if (!status)
		status = fail(journal,
			      database_query_number(journal->database,
						    "SELECT count(*) FROM temp.delta", &count),
			      error);
	*rows = (uint64_t)count;
	return status;
}

/* ---- batches */

void export_batch_fini(struct export_batch *batch)
{
	free(batch->stacks);
	free(batch->body);
	*batch = (struct export_batch){0};
}

static int copy(struct statement *row, uint32_t column, void **bytes, size_t *size)
{
	uint32_t stored;
	const void *data = statement_bytes(row, column, &stored);

	*size = stored;
	if (!stored)
		return 0;
	*bytes = malloc(stored);
	if (*bytes)
		memcpy(*bytes, data, stored);
	return *bytes ? 0 : -ENOMEM;
}

static int take_batch(struct statement *row, void *context)
{
	struct export_batch *batch = context;

	batch->number = statement_number(row, 0);
	batch->kind = (enum export_rows)statement_number32(row, 1); /* checked below */
	batch->rows = statement_number(row, 2);
	batch->was_tried = statement_number(row, 3) != 0;
	int status = copy(row, 4, &batch->stacks, &batch->stacks_size);
	return status ? status : copy(row, 5, &batch->body, &batch->body_size);
}

int export_journal_pending(struct export_journal *journal, struct export_batch *batch, char **error)
{
	*batch = (struct export_batch){0};
	int status = database_rows(journal->database,
				   "SELECT number, kind, rows, tried, stacks, body FROM batch"
				   " ORDER BY number LIMIT 1",
				   take_batch, batch);

	if (status)
		return fail(journal, status, error);
	return (unsigned int)batch->kind < EXPORT_ROWS_KINDS
		       ? 0
		       : refuse(journal, "it makes no sense", error);
}

struct making {
	const struct export_maker *maker;
	struct export_batch batch; /* owns */
	int64_t first, end;        /* ids of the round's delta */
};

static int make_row(struct statement *row, void *context)
{
	struct making *making = context;
	struct export_delta delta = {.stack = statement_number(row, 2),
				     .leaf = statement_number32(row, 3),
				     .count = statement_signed(row, 4),
				     .ns = statement_signed(row, 5),
				     .bytes = statement_signed(row, 6)};

	delta.place = statement_bytes(row, 0, &delta.place_size);
	delta.work = statement_bytes(row, 1, &delta.work_size);
	making->batch.rows++;
	return making->maker->row(making->maker->context, &delta);
}

static int make_stack(struct statement *row, void *context)
{
	const struct making *making = context;

	return making->maker->stack(making->maker->context, statement_number(row, 0),
				    statement_number32(row, 1));
}

static int make_rows(struct export_journal *journal, struct making *making)
{
	const struct export_maker *maker = making->maker;
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT place.text, work.text, d.stack, d.leaf, d.more_count, d.more_ns,"
		 " d.more_bytes FROM temp.delta d JOIN labels place ON place.id = d.place"
		 " JOIN labels work ON work.id = d.work WHERE d.id >= %" PRId64
		 " AND d.id < %" PRId64,
		 making->first, making->end);
	int status = maker->begin(maker->context, making->batch.number, making->batch.kind);
	if (!status)
		status = database_rows(journal->database, sql, make_row, making);
	if (!status && maker->stack)
		status = database_rows(journal->database,
				       "SELECT n.stack, n.leaf FROM temp.nodes n WHERE n.stack IN"
				       " (SELECT stack FROM pending) AND n.stack NOT IN (SELECT "
				       "stack FROM stacks)",
				       make_stack, making);
	int end = maker->end(maker->context, &making->batch);
	return status ? status : end;
}

static int store_batch(struct export_journal *journal, const struct export_batch *batch)
{
	const struct database_value none = {.type = DATABASE_NULL};
	const struct database_value values[] = {
		database_number(batch->number),
		database_number(batch->kind),
		database_number(batch->rows),
		batch->stacks ? database_bytes(batch->stacks, batch->stacks_size) : none,
		database_bytes(batch->body, batch->body_size),
	};
	struct statement *statement;
	int status = statement_create(journal->database,
				      "INSERT INTO batch (number, kind, rows, tried, stacks, body)"
				      " VALUES (?1, ?2, ?3, 0, ?4, ?5)",
				      &statement);

	if (!status)
		status = statement_run(statement, values, 5);
	statement_destroy(statement);
	return status;
}

/* Takes the next rows of one kind into the open batch. */
static int choose_rows(struct export_journal *journal, struct making *making, char **error)
{
	char sql[512], of_place[128];
	int64_t kind = 0, number = 0, count = 0;

	snprintf(of_place, sizeof(of_place),
		 " AND place = (SELECT place FROM temp.delta WHERE id = %" PRId64 ")",
		 journal->next);

	snprintf(sql, sizeof(sql), "SELECT kind FROM temp.delta WHERE id = %" PRId64,
		 journal->next);
	int status = database_query_number(journal->database, sql, &kind);
	if (!status && (kind < 0 || kind >= EXPORT_ROWS_KINDS))
		status = refuse(journal, "it makes no sense", error);
	if (!status)
		status = database_query_number(
			journal->database,
			"SELECT seq + 1 FROM sqlite_sequence WHERE name = 'batch'", &number);
	making->batch.kind = (enum export_rows)kind;
	making->batch.number = number ? (uint64_t)number : 1;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO pending (" ALL ") SELECT " ALL " FROM temp.delta WHERE id >= %" PRId64
		 " AND id < %" PRId64 " AND kind = %" PRId64 "%s",
		 journal->next, journal->next + making->maker->rows_max, kind,
		 making->maker->only_grows ? of_place : "");
	if (!status)
		status = database_execute(journal->database, sql);
	if (!status)
		status = database_query_number(journal->database, "SELECT count(*) FROM pending",
					       &count);
	making->first = journal->next;
	making->end = journal->next + count; /* the delta is in the order of kinds, and of places */
	return status;
}

int export_journal_make(struct export_journal *journal, const struct export_maker *maker,
			bool *made, char **error)
{
	struct making making = {.maker = maker};
	int64_t left = 0;
	char sql[128];

	*made = false;
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM temp.delta WHERE id >= %" PRId64,
		 journal->next);
	int status = fail(journal, database_query_number(journal->database, sql, &left), error);
	if (status || !left)
		return status;
	status = database_execute(journal->database, "BEGIN IMMEDIATE");
	if (!status)
		status = choose_rows(journal, &making, error);
	if (!status)
		status = make_rows(journal, &making);
	if (!status)
		status = store_batch(journal, &making.batch);
	if (!status)
		status = database_execute(journal->database, "COMMIT");
	export_batch_fini(&making.batch);
	if (status) {
		database_roll_back(journal->database);
		return status == -E2BIG ? status : fail(journal, status, error);
	}
	journal->next = making.end;
	*made = true;
	return 0;
}

int export_journal_try(struct export_journal *journal, char **error)
{
	return execute(journal, "UPDATE batch SET tried = 1", error);
}

int export_journal_delivered(struct export_journal *journal, char **error)
{
	return execute(journal, delivered, error);
}

int export_journal_forget(struct export_journal *journal, char **error)
{
	return execute(journal, "BEGIN IMMEDIATE; DELETE FROM pending; DELETE FROM batch; COMMIT;",
		       error);
}
