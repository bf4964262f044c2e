#include "clickhouse.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http_post.h"

#include "base/error_text.h"
#include "report/names/clean_text.h"

#define TOKENS_SINCE 22u /* the release that has tokens for tables without replicas */
#define SAID_MAX     300 /* bytes of an answer in a message */
#define HEADERS      2u

struct clickhouse {
	const struct export_target *target;
	struct http_post_header headers[HEADERS];
	struct http_post *post;
	bool has_tokens;
	struct http_reply reply;
};

/* The server's words, on one line. */
static int refuse(struct clickhouse *clickhouse, const char *task, char **error)
{
	char *text =
		clean_text_of(clickhouse->reply.text, strnlen(clickhouse->reply.text, SAID_MAX));
	char *failure = clean_text_of(clickhouse->reply.failure,
				      strnlen(clickhouse->reply.failure, HTTP_POST_FAILURE_MAX));
	const bool has_failure = failure && *failure;
	int status = error_text_set(error, -EPROTO, "%s: %s: HTTP status %ld%s%s: %s",
				    clickhouse->target->url, task, clickhouse->reply.status,
				    has_failure ? ", exception " : "", has_failure ? failure : "",
				    text ? text : "");

	free(failure);
	free(text);
	return status;
}

static int send_request(struct clickhouse *clickhouse, const char *task, const void *body,
			size_t size, bool is_insert, char **error)
{
	const struct http_post_request request = {.path = "/",
						  .type = "application/octet-stream",
						  .body = body,
						  .size = size,
						  .failure_header = "X-ClickHouse-Exception-Code",
						  .is_gzip = is_insert,
						  .is_change = is_insert};
	int status = http_post_send(clickhouse->post, &request, &clickhouse->reply, error);

	/* A server that fails late may say so in the body alone, or in a header alone. Without an error the answer to
	 * an insert is empty. */
	if (!status && (clickhouse->reply.status != 200 || *clickhouse->reply.failure ||
			(is_insert && clickhouse->reply.size)))
		return refuse(clickhouse, task, error);
	return status;
}

/* The statement is the body: a URL may not be long enough. */
__attribute__((format(printf, 3, 4))) static int ask(struct clickhouse *clickhouse, char **error,
						     const char *format, ...)
{
	char *statement = NULL;
	va_list arguments;

	va_start(arguments, format);
	int size = vasprintf(&statement, format, arguments);
	va_end(arguments);
	if (size < 0)
		return -ENOMEM;
	http_post_add(clickhouse->post, "wait_end_of_query", "1");
	int status = send_request(clickhouse, "a question", statement, (size_t)size, false, error);
	free(statement);
	return status;
}

/* Reads the answer, which is one number. */
static int read_number(struct clickhouse *clickhouse, uint64_t *number, char **error)
{
	char *end;

	errno = 0;
	*number = strtoull(clickhouse->reply.text, &end, 10);
	if (*clickhouse->reply.text < '0' || *clickhouse->reply.text > '9' || errno ||
	    strcmp(end, "\n") != 0)
		return refuse(clickhouse, "the answer is no number", error);
	return 0;
}

static int look_at_server(struct clickhouse *clickhouse, char **error)
{
	uint64_t version = 0;
	int status = ask(clickhouse, error, "SELECT version()");

	if (status)
		return status;
	clickhouse->has_tokens = strtoul(clickhouse->reply.text, NULL, 10) >= TOKENS_SINCE;
	status = ask(clickhouse, error, "SELECT max(version) FROM %s.schema_version",
		     clickhouse->target->database);
	if (!status)
		status = read_number(clickhouse, &version, error);
	if (!status && version != CLICKHOUSE_SCHEMA)
		status = error_text_set(error, -EPROTO,
					"%s: database %s has tables of version %" PRIu64
					"; this program writes version %d (clickhouse.sql)",
					clickhouse->target->url, clickhouse->target->database,
					version, CLICKHOUSE_SCHEMA);
	return status;
}

int clickhouse_open(const struct export_target *target, struct clickhouse **clickhouse,
		    char **error)
{
	*clickhouse = calloc(1, sizeof(**clickhouse));
	if (!*clickhouse)
		return -ENOMEM;
	(*clickhouse)->target = target;
	(*clickhouse)->headers[0] = (struct http_post_header){"X-ClickHouse-User", target->user};
	(*clickhouse)->headers[1] = (struct http_post_header){"X-ClickHouse-Key", target->password};
	int status = http_post_create(target, (*clickhouse)->headers, HEADERS, false,
				      &(*clickhouse)->post, error);
	return status ? status : look_at_server(*clickhouse, error);
}

void clickhouse_close(struct clickhouse *clickhouse)
{
	if (!clickhouse)
		return;
	http_post_destroy(clickhouse->post);
	free(clickhouse);
}

int clickhouse_count(struct clickhouse *clickhouse, const struct clickhouse_batch *batch,
		     uint64_t *rows, char **error)
{
	int status = ask(clickhouse, error,
			 "SELECT count() FROM %s.%s WHERE source = '%s' AND batch = %" PRIu64,
			 clickhouse->target->database, batch->table, batch->source, batch->number);

	return status ? status : read_number(clickhouse, rows, error);
}

int clickhouse_count_writers(struct clickhouse *clickhouse, const char *writers, const char *except,
			     uint64_t *rows, char **error)
{
	const char *database = clickhouse->target->database;
	int status = ask(clickhouse, error,
			 "SELECT count() FROM %s.work WHERE source != '%s' AND source IN"
			 " (SELECT source FROM %s.writers WHERE writer IN (%s))",
			 database, except, database, writers);

	return status ? status : read_number(clickhouse, rows, error);
}

int clickhouse_count_claims(struct clickhouse *clickhouse, const char *writers, const char *except,
			    uint64_t *sources, char **error)
{
	const char *database = clickhouse->target->database;
	int status =
		ask(clickhouse, error,
		    "SELECT uniqExact(source) FROM %s.writers WHERE source != '%s' AND writer IN"
		    " (%s) AND source NOT IN (SELECT source FROM %s.writers WHERE writer ="
		    " '" CLICKHOUSE_WITHDRAWN "')",
		    database, except, writers, database);

	return status ? status : read_number(clickhouse, sources, error);
}

int clickhouse_insert(struct clickhouse *clickhouse, const struct clickhouse_batch *batch,
		      const void *body, size_t size, char **error)
{
	char *statement = NULL, *token = NULL;
	int status = -ENOMEM;

	if (asprintf(&statement, "INSERT INTO %s.%s FORMAT JSONEachRow",
		     clickhouse->target->database, batch->table) < 0)
		statement = NULL;
	if (asprintf(&token, "%s-%s-%" PRIu64, batch->table, batch->source, batch->number) < 0)
		token = NULL;
	if (statement && token) {
		http_post_add(clickhouse->post, "query", statement);
		http_post_add(clickhouse->post, "query_id", token);
		http_post_add(clickhouse->post, "wait_end_of_query", "1");
		if (clickhouse->has_tokens) {
			http_post_add(clickhouse->post, "insert_deduplication_token", token);
			http_post_add(clickhouse->post, "insert_deduplicate", "1");
			http_post_add(clickhouse->post, "async_insert", "0");
			http_post_add(clickhouse->post, "input_format_parallel_parsing", "0");
		}
		status = send_request(clickhouse, "an insert", body, size, true, error);
	}
	free(statement);
	free(token);
	return status;
}
