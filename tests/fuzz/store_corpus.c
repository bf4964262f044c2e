/* Writes a small corpus for store_fuzz: nothing changed, of each table a row that is changed, added and deleted, and
 * headers that are forged.
 *	store_corpus DIRECTORY	(which exists) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"
#include "store_edit.h"
#include "store_template.h"

#define TABLES 64u /* at least as many as there are */

/* Byte 0 of an input. */
static uint8_t of(uint32_t template, uint32_t reader)
{
	return (uint8_t)(template + STORE_TEMPLATES * (reader % STORE_READERS));
}

int main(int argc, char **argv)
{
	/* In SQLite's header: its magic, the page's size, the schema's version, what application's file it is. */
	static const uint8_t forged[] = {0, 16, 63, 71};
	uint8_t input[1 + 2 * STORE_EDIT_SIZE] = {0};
	int failed = argc != 2;

	for (uint32_t i = 0; i < STORE_TEMPLATES * STORE_READERS && !failed; i++) {
		input[0] = (uint8_t)i;
		failed = seed_write(argv[1], "same", i, input, 1);
	}
	for (uint32_t table = 0; table < TABLES && !failed; table++) {
		const struct store_edit edits[] = {
			{STORE_EDIT_ADD, (uint8_t)table, 0, 1, 0, 0, 2},
			{table % 3 ? STORE_EDIT_SET : STORE_EDIT_DELETE, (uint8_t)table,
			 (uint8_t)(table % 5), 1, 0, 0, table % 7},
		};

		input[0] = of(table % STORE_TEMPLATES, table / STORE_TEMPLATES);
		memcpy(input + 1, edits, sizeof(edits));
		failed = seed_write(argv[1], "table", table, input, sizeof(input));
	}
	for (uint32_t i = 0; i < sizeof(forged) && !failed; i++) {
		const struct store_edit edit = {STORE_EDIT_RAW, 0, 0, 0xff, 0, 0, forged[i]};

		input[0] = of(i % STORE_TEMPLATES, i);
		memcpy(input + 1, &edit, sizeof(edit));
		failed = seed_write(argv[1], "forged", i, input, 1 + sizeof(edit));
	}
	if (failed)
		fprintf(stderr, "store_corpus: give a directory that can be written to\n");
	return failed;
}
