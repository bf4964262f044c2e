/* Writes a small corpus for store_fuzz: nothing changed, of each table a row that is changed, added and deleted, and headers
 * that are forged.
 *	store_corpus DIRECTORY	(which exists) */
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "store_edit.h"
#include "store_template.h"

#define TABLES 48u /* at least as many as there are */

static int write_input(const char *directory, const char *name, uint32_t number, const uint8_t *data,
		       size_t size)
{
	char path[4096];
	FILE *file;
	size_t written;

	if (snprintf(path, sizeof(path), "%s/%s-%02u", directory, name, number) >= (int)sizeof(path))
		return -1;
	file = fopen(path, "wb");
	if (!file)
		return -1;
	written = fwrite(data, 1, size, file);
	return fclose(file) == 0 && written == size ? 0 : -1;
}

int main(int argc, char **argv)
{
	/* In SQLite's header: its magic, the page's size, the schema's version, what application's file it is. */
	static const uint8_t forged[] = {0, 16, 63, 71};
	uint8_t input[1 + 2 * STORE_EDIT_SIZE] = {0};
	int failed = argc != 2;

	for (uint32_t i = 0; i < STORE_TEMPLATES && !failed; i++) {
		input[0] = (uint8_t)i;
		failed = write_input(argv[1], "same", i, input, 1);
	}
	for (uint32_t table = 0; table < TABLES && !failed; table++) {
		const struct store_edit edits[] = {
			{STORE_EDIT_ADD, (uint8_t)table, 0, 1, 0, 0, 2},
			{table % 3 ? STORE_EDIT_SET : STORE_EDIT_DELETE, (uint8_t)table, (uint8_t)(table % 5), 1, 0, 0,
			 table % 7},
		};

		input[0] = (uint8_t)(table % STORE_TEMPLATES);
		memcpy(input + 1, edits, sizeof(edits));
		failed = write_input(argv[1], "table", table, input, sizeof(input));
	}
	for (uint32_t i = 0; i < sizeof(forged) && !failed; i++) {
		const struct store_edit edit = {STORE_EDIT_RAW, 0, 0, 0xff, 0, 0, forged[i]};

		input[0] = (uint8_t)(i % STORE_TEMPLATES);
		memcpy(input + 1, &edit, sizeof(edit));
		failed = write_input(argv[1], "forged", i, input, 1 + sizeof(edit));
	}
	if (failed)
		fprintf(stderr, "store_corpus: give a directory that can be written to\n");
	return failed;
}
