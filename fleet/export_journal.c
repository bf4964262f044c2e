#include "export_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "export_schema.h"

#include "aggregator/store/database.h"
#include "base/error_text.h"
#include "report/writers/deflate_file.h"

#define VERSION 1

#define KEY "kind, place, work, stack"
#define ALL KEY ", count, ns, bytes"

/* All sums of a round, and then the rows that differ, in the order of their batches. */
static const char round_tables[] =
	"BEGIN IMMEDIATE;"
	"DROP TABLE IF EXISTS temp.now; DROP TABLE IF EXISTS temp.nodes; DROP TABLE IF EXISTS "
	"temp.delta;"
	"CREATE TEMP TABLE now (kind INTEGER, place INTEGER, work INTEGER, stack INTEGER,"
	" count INTEGER, ns INTEGER, bytes INTEGER, PRIMARY KEY (" KEY ")) WITHOUT ROWID;"
	"CREATE TEMP TABLE nodes (stack INTEGER PRIMARY KEY, node INTEGER);"
	"CREATE TEMP TABLE delta (id INTEGER PRIMARY KEY, kind INTEGER, place INTEGER, work "
	"INTEGER,"
	" stack INTEGER, count INTEGER, ns INTEGER, bytes INTEGER,"
	" more_count INTEGER, more_ns INTEGER, more_bytes INTEGER);";

static const char find_delta[] =
	"INSERT INTO temp.delta (" ALL ", more_count, more_ns, more_bytes)"
	" SELECT * FROM (SELECT n.kind AS kind, n.place, n.work, n.stack, n.count, n.ns, n.bytes,"
	"  n.count - ifnull(s.count, 0) AS c, n.ns - ifnull(s.ns, 0) AS t,"
	"  n.bytes - ifnull(s.bytes, 0) AS b"
	"  FROM temp.now n LEFT JOIN sent s USING (" KEY ")"
	"  UNION ALL SELECT s.kind, s.place, s.work, s.stack, 0, 0, 0, -s.count, -s.ns, -s.bytes"
	"  FROM sent s LEFT JOIN temp.now n USING (" KEY ") WHERE n.kind IS NULL)"
	" WHERE c != 0 OR t != 0 OR b != 0 ORDER BY kind;"
	"COMMIT;";

/* Accounts that fell, and all keys that fell. A label's first member ends at its comma. Idle time falls when a late
 * record fills a gap. */
static const char accounts_fell[] =
	"SELECT EXISTS (SELECT 1 FROM temp.delta d JOIN labels w ON w.id = d.work WHERE d.kind = 0"
	" AND instr(CAST(w.text AS TEXT), '\"plane\":\"idle\"') != 1"
	" GROUP BY substr(CAST(w.text AS TEXT), 1, instr(CAST(w.text AS TEXT), ','))"
	" HAVING total(more_count) < 0 OR total(more_ns) < 0)";
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
		"export again, which says which rows to delete (docs/how-to/fleet.md)",
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

int export_journal_open(const char *store_path, struct export_journal **journal, char **error)
{
	*journal = calloc(1, sizeof(**journal));
	if (!*journal)
		return -ENOMEM;
	if (asprintf(&(*journal)->path, "%s" EXPORT_JOURNAL_SUFFIX, store_path) < 0) {
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
			"INSERT INTO temp.now VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
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

int export_journal_add(struct export_journal *journal, const struct export_row *row, uint32_t node,
		       char **error)
{
	const struct database_value values[] = {
		database_number(row->kind),  database_signed(row->place),
		database_signed(row->work),  database_number(row->stack),
		database_amount(row->count), database_amount(row->ns),
		database_amount(row->bytes),
	};
	const struct database_value of_stack[] = {database_number(row->stack),
						  database_number(node)};
	int status = statement_run(journal->add_row, values, 7);

	if (!status && row->stack)
		status = statement_run(journal->add_node, of_stack, 2);
	return fail(journal, status, error);
}

int export_journal_end(struct export_journal *journal, bool is_damaged, uint64_t *rows, bool *fell,
		       char **error)
{
	int64_t count = 0, falls = 0;
	int status = execute(journal, find_delta, error);

	if (!status)
		status = fail(journal,
			      database_query_number(journal->database,
						    is_damaged ? keys_fell : accounts_fell, &falls),
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

struct text {
	char *bytes; /* owns; compressed */
	size_t size;
	FILE *memory, *out;
	uint64_t rows;
};

static int text_begin(struct text *text)
{
	text->memory = open_memstream(&text->bytes, &text->size);
	text->out = text->memory ? deflate_file_open(text->memory, DEFLATE_GZIP) : NULL;
	return text->out ? 0 : -ENOMEM;
}

static int text_end(struct text *text)
{
	int failed = text->out ? fclose(text->out) : 0;

	text->out = NULL;
	if (text->memory)
		failed |= fclose(text->memory);
	text->memory = NULL;
	return failed ? -ENOMEM : 0;
}

struct writing {
	struct text stacks, rows;
	const char *head;
	enum export_rows kind;
	uint64_t number;
	int64_t first, end; /* ids of the round's delta */
	export_stack_write *write;
	void *context;
};

static int write_row(struct statement *row, void *context)
{
	struct writing *writing = context;
	FILE *out = writing->rows.out;
	uint32_t size;
	const void *place = statement_bytes(row, 0, &size);

	fprintf(out, "{%s\"batch\":%" PRIu64 ",%.*s,", writing->head, writing->number, (int)size,
		(const char *)place);
	const void *work = statement_bytes(row, 1, &size);
	fprintf(out, "%.*s,", (int)size, (const char *)work);
	if (writing->kind == EXPORT_WORK)
		fprintf(out, "\"stack\":%" PRIu64 ",\"bytes\":%" PRId64 ",",
			statement_number(row, 2), statement_signed(row, 5));
	fprintf(out, "\"count\":%" PRId64 ",\"ns\":%" PRId64 "}\n", statement_signed(row, 3),
		statement_signed(row, 4));
	writing->rows.rows++;
	return 0;
}

static int write_stack(struct statement *row, void *context)
{
	struct writing *writing = context;
	FILE *out = writing->stacks.out;

	fprintf(out, "{\"stack\":%" PRIu64 ",", statement_number(row, 0));
	int status = writing->write(writing->context, out, statement_number32(row, 1));
	fputs("}\n", out);
	writing->stacks.rows++;
	return status;
}

static int write_rows(struct export_journal *journal, struct writing *writing)
{
	int status = text_begin(&writing->rows);
	char sql[512];

	if (!status)
		status = text_begin(&writing->stacks);
	snprintf(sql, sizeof(sql),
		 "SELECT place.text, work.text, d.stack, d.more_count, d.more_ns, d.more_bytes"
		 " FROM temp.delta d JOIN labels place ON place.id = d.place"
		 " JOIN labels work ON work.id = d.work WHERE d.id >= %" PRId64
		 " AND d.id < %" PRId64,
		 writing->first, writing->end);
	if (!status)
		status = database_rows(journal->database, sql, write_row, writing);
	if (!status)
		status = database_rows(journal->database,
				       "SELECT n.stack, n.node FROM temp.nodes n WHERE n.stack IN"
				       " (SELECT stack FROM pending) AND n.stack NOT IN (SELECT "
				       "stack FROM stacks)",
				       write_stack, writing);
	int rows_status = text_end(&writing->rows), stacks_status = text_end(&writing->stacks);
	return status ? status : rows_status ? rows_status : stacks_status;
}

static int store_batch(struct export_journal *journal, const struct writing *writing)
{
	const struct database_value none = {.type = DATABASE_NULL};
	const struct database_value values[] = {
		database_number(writing->number),
		database_number(writing->kind),
		database_number(writing->rows.rows),
		writing->stacks.rows ? database_bytes(writing->stacks.bytes, writing->stacks.size)
				     : none,
		database_bytes(writing->rows.bytes, writing->rows.size),
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
static int choose_rows(struct export_journal *journal, uint32_t rows_max, struct writing *writing,
		       char **error)
{
	char sql[512];
	int64_t kind = 0, number = 0, count = 0;

	snprintf(sql, sizeof(sql), "SELECT kind FROM temp.delta WHERE id = %" PRId64,
		 journal->next);
	int status = database_query_number(journal->database, sql, &kind);
	if (!status && (kind < 0 || kind >= EXPORT_ROWS_KINDS))
		status = refuse(journal, "it makes no sense", error);
	if (!status)
		status = database_query_number(
			journal->database,
			"SELECT seq + 1 FROM sqlite_sequence WHERE name = 'batch'", &number);
	writing->kind = (enum export_rows)kind;
	writing->number = number ? (uint64_t)number : 1;
	snprintf(sql, sizeof(sql),
		 "INSERT INTO pending (" ALL ") SELECT " ALL " FROM temp.delta WHERE id >= %" PRId64
		 " AND id < %" PRId64 " AND kind = %" PRId64,
		 journal->next, journal->next + rows_max, kind);
	if (!status)
		status = database_execute(journal->database, sql);
	if (!status)
		status = database_query_number(journal->database, "SELECT count(*) FROM pending",
					       &count);
	writing->first = journal->next;
	writing->end = journal->next + count; /* the delta is in the order of kinds */
	return status;
}

int export_journal_make(struct export_journal *journal, const char *head, uint32_t rows_max,
			export_stack_write *write, void *context, bool *made, char **error)
{
	struct writing writing = {.head = head, .write = write, .context = context};
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
		status = choose_rows(journal, rows_max, &writing, error);
	if (!status)
		status = write_rows(journal, &writing);
	if (!status)
		status = store_batch(journal, &writing);
	if (!status)
		status = database_execute(journal->database, "COMMIT");
	free(writing.rows.bytes);
	free(writing.stacks.bytes);
	if (status) {
		database_roll_back(journal->database);
		return fail(journal, status, error);
	}
	journal->next = writing.end;
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
