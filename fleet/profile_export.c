#include "profile_export.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clickhouse_rows.h"
#include "export_claim.h"
#include "export_journal.h"
#include "export_rows.h"
#include "export_server.h"
#include "pyroscope_profile.h"

#include "aggregator/service/job_dir.h"
#include "base/clock.h"
#include "base/error_text.h"
#include "report/names/clean_text.h"
#include "report/profile/profile_parts.h"
#include "report/view/report_view.h"

struct exporting {
	const char *store_path;
	struct export_server *server;
	struct export_journal *journal;
	struct profile_export_result *result;
	char source[EXPORT_JOURNAL_WORD_MAX];      /* "": a new journal */
	char destination[EXPORT_JOURNAL_WORD_MAX]; /* the server's name in the journal */
	bool is_bound;                             /* the journal has it */
	char **error;
};

/* A journal belongs to one destination, from what it had first on. */
static int bind(struct exporting *exporting)
{
	if (exporting->is_bound)
		return 0;
	exporting->is_bound = true;
	return export_journal_write(exporting->journal, "destination", exporting->destination,
				    exporting->error);
}

/* Delivers the open batch, if there is one. */
static int deliver(struct exporting *exporting)
{
	struct export_batch batch;
	int status = export_journal_pending(exporting->journal, &batch, exporting->error);

	if (!status && batch.number) {
		exporting->result->waiting = batch.rows;
		status = export_server_deliver(exporting->server, exporting->journal, &batch,
					       exporting->source, exporting->store_path,
					       exporting->error);
		if (!status) {
			exporting->result->rows += batch.rows;
			exporting->result->waiting = 0;
			status = bind(exporting);
		}
	}
	export_batch_fini(&batch);
	return status;
}

static int check_destination(struct exporting *exporting)
{
	char known[EXPORT_JOURNAL_WORD_MAX];
	int status =
		export_journal_read(exporting->journal, "destination", known, exporting->error);

	if (!status)
		status = export_journal_read(exporting->journal, "source", exporting->source,
					     exporting->error);
	exporting->is_bound = *known != '\0';
	if (!status && exporting->is_bound && strcmp(known, exporting->destination) != 0)
		status = error_text_set(exporting->error, -EINVAL,
					"%s: this profile is exported to %s, "
					"not to %s",
					export_journal_path(exporting->journal), known,
					exporting->destination);
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

/* Makes batches of the round, and delivers each. */
static int deliver_round(struct exporting *exporting, struct export_maker *maker)
{
	bool made = true;
	int status = 0;

	while (!status && made) {
		status = export_journal_make(exporting->journal, maker, &made, exporting->error);
		if (status == -E2BIG && maker->rows_max > 1) {
			maker->rows_max /= 2;
			status = 0;
		} else if (!status && made) {
			status = deliver(exporting);
		}
	}
	return status;
}

/* The rows of a batch for Pyroscope have the time of the export: a server refuses times of more than an hour ago. */
static int deliver_rows(struct exporting *exporting, const struct report_view *view)
{
	struct export_maker maker;
	struct clickhouse_rows rows = {.tree = view->tree,
				       .source = exporting->source,
				       .time_s = find_time_s(view->profile)};
	struct pyroscope_profile profile = {
		.view = view, .source = exporting->source, .time_ns = clock_realtime_ns()};

	if (exporting->server->target->kind == EXPORT_PYROSCOPE)
		pyroscope_profile_maker(&profile, &maker);
	else
		clickhouse_rows_maker(&rows, &maker);
	int status = deliver_round(exporting, &maker);
	pyroscope_profile_fini(&profile);
	return status;
}

static int deliver_view(struct exporting *exporting, const struct report_view *view)
{
	char *user = find_user(exporting->store_path);
	uint64_t rows = 0;
	bool fell = false;
	int status = user ? export_rows_fill(exporting->journal, view, user,
					     exporting->server->target->kind, &rows, &fell,
					     exporting->error)
			  : -ENOMEM;
	const uint64_t before = exporting->result->rows;

	if (!status)
		status = deliver_rows(exporting, view);
	exporting->result->waiting = rows - (exporting->result->rows - before);
	free(user);
	if (!status && (fell || profile_has_note(view->profile, STORE_NOTE_DAMAGED)))
		status = explain_damage(exporting, view, fell);
	return status;
}

static int export_view(struct exporting *exporting)
{
	struct report_view view;
	int status = report_view_open(&view, exporting->store_path, &export_rows_options,
				      exporting->error);

	if (!status && view.profile->slice)
		status = error_text_set(exporting->error, -EINVAL,
					"%s: a part of a profile by time: its work would count "
					"twice, since it is the whole profile's, too",
					exporting->store_path);
	if (!status)
		status = export_claim_make(exporting->server, exporting->journal,
					   exporting->store_path, view.store_path,
					   exporting->destination, exporting->source,
					   exporting->error);
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
	const struct export_target *target = exporting->server->target;

	if ((size_t)snprintf(exporting->destination, sizeof(exporting->destination), "%s/%s",
			     target->url,
			     target->kind == EXPORT_PYROSCOPE ? "push" : target->database) >=
	    sizeof(exporting->destination))
		return error_text_set(exporting->error, -EINVAL, "the server's name is too long");
	int status = check_destination(exporting);
	/* What was sent before goes first: its bytes are known. */
	if (!status)
		status = deliver(exporting);
	look_at_files(exporting->store_path, files);
	if (!status)
		status = export_journal_read(exporting->journal, "files", known, exporting->error);
	if (status || (skips_unchanged && strcmp(files, known) == 0))
		return status;
	status = export_view(exporting);
	if (status && status != -EBADMSG)
		return status;
	/* A damaged profile is read again when its files change. */
	int written = export_journal_write(exporting->journal, "files", files,
					   status ? NULL : exporting->error);
	return status ? status : written;
}

int profile_export(const char *store_path, struct export_server *server, bool skips_unchanged,
		   struct profile_export_result *result, char **error)
{
	struct exporting exporting = {
		.store_path = store_path, .server = server, .result = result, .error = error};
	struct stat info;

	*error = NULL;
	*result = (struct profile_export_result){0};
	if (stat(store_path, &info))
		return error_text_set(error, -errno, "%s: %s", store_path, strerror(errno));
	int status = export_journal_open(store_path,
					 server->target->kind == EXPORT_PYROSCOPE
						 ? EXPORT_JOURNAL_PYROSCOPE
						 : EXPORT_JOURNAL_CLICKHOUSE,
					 &exporting.journal, error);
	if (!status)
		status = export_open(&exporting, skips_unchanged);
	export_journal_close(exporting.journal);
	return status < 0 && !*error
		       ? error_text_set(error, status, "%s: %s", store_path, strerror(-status))
		       : status;
}
