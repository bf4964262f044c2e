#include "merge_title.h"

#include <string.h>

#define OTHERS " and others"

int merge_title_take(struct merge_title *title, struct database *profile)
{
	char text[MERGE_TITLE_MAX];
	int error = database_query_text(profile,
					"SELECT CAST(value AS BLOB) FROM meta WHERE key = 'title'",
					text, sizeof(text));
	const size_t size = strlen(text), of_others = strlen(OTHERS);
	const bool is_of_others = size > of_others && !strcmp(text + size - of_others, OTHERS);

	if (is_of_others)
		text[size - of_others] = '\0';
	if (error || !*text)
		return error;
	title->has_others |= is_of_others || (*title->text && strcmp(text, title->text));
	if (!*title->text || strcmp(text, title->text) < 0)
		memcpy(title->text, text, sizeof(text));
	return 0;
}

int merge_title_write(const struct merge_title *title, struct database *merged)
{
	char text[MERGE_TITLE_MAX + sizeof(OTHERS)];
	struct statement *statement;

	if (!*title->text)
		return 0;
	strcpy(text, title->text);
	if (title->has_others)
		strcat(text, OTHERS);
	const struct database_value value = database_bytes(text, strlen(text));
	int error = statement_create(merged, "INSERT INTO meta VALUES ('title', CAST(?1 AS TEXT))",
				     &statement);

	if (!error)
		error = statement_run(statement, &value, 1);
	statement_destroy(statement);
	return error;
}
