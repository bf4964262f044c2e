/* Writes a small corpus for cubin_lines_fuzz: cubins with all that line tables have.
 *	cubin_lines_corpus DIRECTORY	(which exists) */
#include <stdio.h>
#include <stdlib.h>

#include "seed.h"
#include "tests/node-agent/cubin/cubin_fixture.h"

#define NR_KINDS 6u

static void put_kernel(struct cubin_fixture *fixture, uint32_t symbol)
{
	fixture_address(fixture, symbol, 0);
	fixture_row(fixture, 0, 9);
	fixture_inline(fixture, 1, 5);
	fixture_bytes(fixture, "\4\2", 2);
	fixture_row(fixture, 0, 10);
	fixture_inline(fixture, 2, 0);
	fixture_row(fixture, 16, -4);
	fixture_bytes(fixture, "\0\2\x91\5\5\3\6\7\x08\x09\1\0\x33", 13);
	fixture_bytes(fixture, "\0\6\3x\0\1\1\1\4\4", 10);
	fixture_row(fixture, 16, 2);
	fixture_inline(fixture, 0, 5);
	fixture_row(fixture, 16, 1);
	fixture_end_sequence(fixture, 16);
}

static int write_kind(const char *directory, uint32_t kind)
{
	static struct cubin_fixture fixture;
	size_t size;

	fixture = (struct cubin_fixture){.strings = "leaf\0middle", .strings_size = 12};
	fixture.without_addends = kind == 1;
	fixture.version = kind == 2 ? 4 : kind == 3 ? 5 : 2;
	fixture_symbol_add(&fixture, "kernel", FIXTURE_TEXT_A, 0, 160);
	fixture_symbol_add(&fixture, "other", FIXTURE_TEXT_B, 0, 160);
	fixture_symbol_add(&fixture, "$kernel$apart", FIXTURE_TEXT_A, 64, 32);
	fixture_symbol_add(&fixture, "$__internal_1_$div", FIXTURE_TEXT_A, 96, 32);
	if (kind == 4)
		fixture_symbol_add(&fixture, "other", FIXTURE_TEXT_A, 144, 16);
	for (uint32_t unit = 0; unit < (kind == 5 ? 2 : 1); unit++) {
		fixture_begin(&fixture);
		put_kernel(&fixture, unit);
		put_kernel(&fixture, 1 - unit);
		fixture_end(&fixture);
	}
	uint8_t *image = fixture_image(&fixture, &size);
	int error = seed_write(directory, "cubin", kind, image, size);
	free(image);
	return error;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "cubin_lines_corpus: give a directory\n");
		return 1;
	}
	for (uint32_t kind = 0; kind < NR_KINDS; kind++)
		if (write_kind(argv[1], kind))
			return 1;
	return 0;
}
