#include "profile_export.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clickhouse.h"
#include "export_journal.h"
#include "export_rows.h"

#include "aggregator/service/job_dir.h"
#include "aggregator/store/database.h"
#include "base/error_text.h"
#include "report/names/clean_text.h"
#include "report/profile/profile_parts.h"
#include "report/view/report_view.h"
#include "report/writers/deflate_file.h"

/* One insert is one block for the server, so it has all of its rows or none. */
#define BATCH_ROWS 50000u

#define STACKS_TABLE "stacks"
static const char *const tables[] = {[EXPORT_WORK] = "work", [EXPORT_LOSSES] = "losses"};

struct exporting {
	const char *store_path;
	const struct export_target *target;
	struct clickhouse **clickhouse;
	struct export_journal *journal;
	struct profile_export_result *result;
	char source[EXPORT_JOURNAL_WORD_MAX]; /* "": a new journal */
	char **error;
};

static int connect_server(struct exporting *exporting)
{
	int status;

	if (*exporting->clickhouse)
		return 0;
	status = clickhouse_open(exporting->target, exporting->clickhouse, exporting->error);
	if (!status)
		return 0;
	clickhouse_close(*exporting->clickhouse);
	*exporting->clickhouse = NULL;
	return status;
}

/* ---- batches */

/* A batch that was sent before may be there: the answer was lost, or this process was killed. *there: it is. */
static int look_for(struct exporting *exporting, const struct clickhouse_batch *batch,
		    uint64_t rows, bool *there)
{
	uint64_t found = 0;
	int status = clickhouse_count(*exporting->clickhouse, batch, &found, exporting->error);

	*there = found == rows;
	if (!status && found && found != rows)
		return error_text_set(exporting->error, -EPROTO,
				      "%s: table %s has %" PRIu64 " rows of batch %" PRIu64
				      " of %s in place of %" PRIu64
				      ": delete them, and export again",
				      exporting->target->url, batch->table, found, batch->number,
				      batch->source, rows);
	return status;
}

static int send_batch(struct exporting *exporting, const struct export_batch *open)
{
	struct clickhouse_batch batch = {
		.table = STACKS_TABLE, .source = exporting->source, .number = open->number};
	bool there = false;
	int status = 0;

	/* Stacks may come several times: the table keeps each once. */
	if (open->stacks)
		status = clickhouse_insert(*exporting->clickhouse, &batch, open->stacks,
					   open->stacks_size, exporting->error);
	batch.table = tables[open->kind];
	if (!status && open->was_tried)
		status = look_for(exporting, &batch, open->rows, &there);
	if (!status && !there)
		status = export_journal_try(exporting->journal, exporting->error);
	if (!status && !there)
		status = clickhouse_insert(*exporting->clickhouse, &batch, open->body,
					   open->body_size, exporting->error);
	return status;
}

/* Delivers the open batch, if there is one. */
static int deliver(struct exporting *exporting)
{
	struct export_batch batch;
	int status = export_journal_pending(exporting->journal, &batch, exporting->error);

	if (!status && batch.number) {
		exporting->result->waiting = batch.rows;
		status = connect_server(exporting);
		if (!status)
			status = send_batch(exporting, &batch);
		if (!status)
			status = export_journal_delivered(exporting->journal, exporting->error);
		if (!status) {
			exporting->result->rows += batch.rows;
			exporting->result->waiting = 0;
		}
	}
	export_batch_fini(&batch);
	return status;
}

/* ---- identity */

/* A journal belongs to one destination. */
static int check_destination(struct exporting *exporting, const char *destination)
{
	char known[EXPORT_JOURNAL_WORD_MAX];
	int status =
		export_journal_read(exporting->journal, "destination", known, exporting->error);

	if (!status)
		status = export_journal_read(exporting->journal, "source", exporting->source,
					     exporting->error);
	if (!status && *exporting->source && strcmp(known, destination) != 0)
		status = error_text_set(exporting->error, -EINVAL,
					"%s" EXPORT_JOURNAL_SUFFIX
					": this profile is exported to %s, "
					"not to %s",
					exporting->store_path, known, destination);
	return status;
}

struct writers {
	char *list; /* owns; "'0a','ff'" */
	char first[EXPORT_JOURNAL_WORD_MAX];
};

static int take_writer(struct statement *row, void *context)
{
	struct writers *writers = context;
	uint32_t size;
	const char *name = statement_bytes(row, 0, &size);
	char *list = NULL;

	if (size == 0 || size > 64)
		return -EPROTO;
	if (!*writers->first)
		snprintf(writers->first, sizeof(writers->first), "%.*s", (int)size, name);
	if (asprintf(&list, "%s%s'%.*s'", writers->list ? writers->list : "",
		     writers->list ? "," : "", (int)size, name) < 0)
		return -ENOMEM;
	free(writers->list);
	writers->list = list;
	return 0;
}

/* The aggregators that wrote the profile, by their random names. */
static int read_writers(const struct exporting *exporting, const char *path,
			struct writers *writers)
{
	struct database *database;
	int status = database_open(path, true, &database, exporting->error);

	*writers = (struct writers){0};
	if (status)
		return status;
	status = database_rows(database, "SELECT lower(hex(writer)) FROM writers ORDER BY writer",
			       take_writer, writers);
	if (!status && !writers->list)
		status = -EPROTO;
	database_close(database);
	return status ? error_text_set(exporting->error, status,
				       "%s: its writers cannot be read: %s", path,
				       strerror(-status))
		      : 0;
}

/* The list as rows of the server's table, compressed. The caller owns *body. */
static int make_rows(const struct writers *writers, const char *source, char **body, size_t *size)
{
	FILE *memory = open_memstream(body, size);
	FILE *out = memory ? deflate_file_open(memory, DEFLATE_GZIP) : NULL;
	int failed = !out;

	for (const char *at = writers->list; out && *at;) {
		const size_t length = strspn(at, "0123456789abcdef");

		if (length)
			fprintf(out, "{\"source\":\"%s\",\"writer\":\"%.*s\"}\n", source,
				(int)length, at);
		at += length ? length : 1;
	}
	if (out)
		failed |= fclose(out);
	if (memory)
		failed |= fclose(memory);
	return failed ? -ENOMEM : 0;
}

static int send_writers(struct exporting *exporting, const struct writers *writers,
			const char *source, uint64_t number)
{
	const struct clickhouse_batch batch = {
		.table = "writers", .source = source, .number = number};
	char *body = NULL;
	size_t size = 0;
	int status = make_rows(writers, source, &body, &size);

	if (!status)
		status = clickhouse_insert(*exporting->clickhouse, &batch, body, size,
					   exporting->error);
	free(body);
	return status;
}

/* Refuses a profile of which the server has rows that are not of this journal: they would be there twice. Then tells
 * the server all writers, for the same look at other profiles. Asks nothing while the writers stay the same. */
static int claim_writers(struct exporting *exporting, const struct writers *writers)
{
	const char *source = *exporting->source ? exporting->source : writers->first;
	char known[EXPORT_JOURNAL_WORD_MAX], now[24];
	uint64_t rows = 0, hash = 0xcbf29ce484222325ull;

	for (const char *at = writers->list; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3ull;
	snprintf(now, sizeof(now), "%016" PRIx64, hash);
	int status = export_journal_read(exporting->journal, "writers", known, exporting->error);
	if (status || (*exporting->source && strcmp(known, now) == 0))
		return status;
	status = connect_server(exporting);
	if (!status)
		status = clickhouse_count_writers(*exporting->clickhouse, writers->list,
						  exporting->source, &rows, exporting->error);
	if (!status && rows)
		return error_text_set(
			exporting->error, -EEXIST,
			"%s: the server has %" PRIu64
			" rows of this profile, or of its parts, that %s" EXPORT_JOURNAL_SUFFIX
			" does not know: delete the rows whose source is of (SELECT source FROM "
			"writers WHERE writer IN (%s)), and export again",
			exporting->store_path, rows, exporting->store_path, writers->list);
	if (!status)
		status = send_writers(exporting, writers, source, hash);
	return status ? status
		      : export_journal_write(exporting->journal, "writers", now, exporting->error);
}

static int begin_journal(struct exporting *exporting, const struct writers *writers,
			 const char *destination)
{
	int status = claim_writers(exporting, writers);

	if (!status)
		status = export_journal_write(exporting->journal, "destination", destination,
					      exporting->error);
	if (!status)
		status = export_journal_write(exporting->journal, "source", writers->first,
					      exporting->error);
	snprintf(exporting->source, sizeof(exporting->source), "%s", writers->first);
	return status;
}

static int identify(struct exporting *exporting, const struct report_view *view,
		    const char *destination)
{
	struct writers writers;
	int status = read_writers(exporting, view->store_path, &writers);

	if (!status && !*exporting->source)
		status = begin_journal(exporting, &writers, destination);
	else if (!status && !strstr(writers.list, exporting->source))
		status = error_text_set(exporting->error, -EINVAL,
					"%s" EXPORT_JOURNAL_SUFFIX " is another profile's",
					exporting->store_path);
	else if (!status)
		status = claim_writers(exporting, &writers);
	free(writers.list);
	return status;
}

/* ---- labels */

/* The job's mark says whose it is; without one, the file does. The caller owns the name. */
static char *find_user(const char *store_path)
{
	const char *slash = strrchr(store_path, '/');
	char folder[PATH_MAX], *error = NULL, *user;
	struct job_mark mark;
	enum job_dir_state state;
	struct stat info;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - store_path) : 1,
		 slash ? store_path : ".");
	int status = job_dir_read(folder, &mark, &state, &error);
	free(error);
	if (status == 0)
		return clean_text_of(mark.user, strlen(mark.user));
	const struct passwd *owner = stat(store_path, &info) == 0 ? getpwuid(info.st_uid) : NULL;
	user = owner ? clean_text_of(owner->pw_name, strlen(owner->pw_name)) : strdup("");
	return user;
}

/* The time of the last word that is in the profile: that of all that is new in it. */
static uint64_t find_time_s(const struct profile *profile)
{
	const struct roster *roster = profile->collection->roster;
	uint64_t time_ns = 0;

	for (uint32_t id = 1; id <= roster_size(roster).processes; id++)
		if (roster_process(roster, id)->spoke_ns > time_ns)
			time_ns = roster_process(roster, id)->spoke_ns;
	return (time_ns ? time_ns : profile->read_ns) / 1000000000u;
}

/* ---- the profile */

/* -EBADMSG. What is gone is not taken back from the server: the next sound look finds the difference. */
static int explain_damage(struct exporting *exporting, const struct report_view *view, bool fell)
{
	return error_text_set(exporting->error, -EBADMSG, "%s: %s: %s", exporting->store_path,
			      fell ? "the server has more work of this profile than is left in it, "
				     "so its work is not exported"
				   : "what is sound is exported",
			      view->tree->state == REPORT_INCOMPLETE
				      ? view->tree->verdict
				      : "is one of its files missing, or an older one?");
}

static int deliver_view(struct exporting *exporting, const struct report_view *view)
{
	char head[EXPORT_JOURNAL_WORD_MAX + 64];
	char *user = find_user(exporting->store_path);
	uint64_t rows = 0;
	bool made = true, fell = false;
	int status = user ? export_rows_fill(exporting->journal, view, user, &rows, &fell,
					     exporting->error)
			  : -ENOMEM;

	snprintf(head, sizeof(head), "\"source\":\"%s\",\"time\":%" PRIu64 ",", exporting->source,
		 find_time_s(view->profile));
	const uint64_t before = exporting->result->rows;
	while (!status && made) {
		status = export_journal_make(exporting->journal, head, BATCH_ROWS,
					     export_rows_write_stack, view->tree, &made,
					     exporting->error);
		if (!status && made)
			status = deliver(exporting);
	}
	exporting->result->waiting = rows - (exporting->result->rows - before);
	free(user);
	if (!status && (fell || view->profile->nr_damages))
		status = explain_damage(exporting, view, fell);
	return status;
}

static int export_view(struct exporting *exporting, const char *destination)
{
	struct report_view view;
	int status = report_view_open(&view, exporting->store_path, &export_rows_options,
				      exporting->error);

	if (!status)
		status = identify(exporting, &view, destination);
	if (!status)
		status = deliver_view(exporting, &view);
	report_view_close(&view);
	return status;
}

/* Sizes and times of the files that change when the profile does. */
static void look_at_files(const char *store_path, char word[static EXPORT_JOURNAL_WORD_MAX])
{
	static const char *const suffixes[] = {"", "-wal", PROFILE_PARTS_NODES};
	char path[PATH_MAX];
	int at = 0;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		struct stat info = {0};

		snprintf(path, sizeof(path), "%s%s", store_path, suffixes[i]);
		if (stat(path, &info) == 0)
			at += snprintf(word + at, EXPORT_JOURNAL_WORD_MAX - (size_t)at,
				       "%s:%jd:%jd.%09ld ", suffixes[i], (intmax_t)info.st_size,
				       (intmax_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
	}
}

static int export_open(struct exporting *exporting, bool skips_unchanged)
{
	char files[EXPORT_JOURNAL_WORD_MAX], known[EXPORT_JOURNAL_WORD_MAX];
	char destination[EXPORT_JOURNAL_WORD_MAX];

	if ((size_t)snprintf(destination, sizeof(destination), "%s/%s", exporting->target->url,
			     exporting->target->database) >= sizeof(destination))
		return error_text_set(exporting->error, -EINVAL, "the server's name is too long");
	int status = check_destination(exporting, destination);
	/* What was sent before goes first: its bytes are known. */
	if (!status)
		status = deliver(exporting);
	look_at_files(exporting->store_path, files);
	if (!status)
		status = export_journal_read(exporting->journal, "files", known, exporting->error);
	if (status || (skips_unchanged && strcmp(files, known) == 0))
		return status;
	status = export_view(exporting, destination);
	if (status && status != -EBADMSG)
		return status;
	/* A damaged profile is read again when its files change. */
	int written = export_journal_write(exporting->journal, "files", files,
					   status ? NULL : exporting->error);
	return status ? status : written;
}

int profile_export(const char *store_path, const struct export_target *target,
		   struct clickhouse **clickhouse, bool skips_unchanged,
		   struct profile_export_result *result, char **error)
{
	struct exporting exporting = {.store_path = store_path,
				      .target = target,
				      .clickhouse = clickhouse,
				      .result = result,
				      .error = error};
	struct stat info;

	*error = NULL;
	*result = (struct profile_export_result){0};
	if (stat(store_path, &info))
		return error_text_set(error, -errno, "%s: %s", store_path, strerror(errno));
	int status = export_journal_open(store_path, &exporting.journal, error);
	if (!status)
		status = export_open(&exporting, skips_unchanged);
	export_journal_close(exporting.journal);
	return status < 0 && !*error
		       ? error_text_set(error, status, "%s: %s", store_path, strerror(-status))
		       : status;
}
