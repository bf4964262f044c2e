#include "tests/support/cmocka_test.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node-agent/files/elf_file.h"
#include "node-agent/probe/probe_note.h"

static const char *guest;

static char *read_guest(size_t *size)
{
	FILE *file = fopen(guest, "re");

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	char *image = malloc(*size);
	assert_non_null(image);
	assert_int_equal(fread(image, 1, *size, file), *size);
	fclose(file);
	return image;
}

static int find(void *image, size_t size, const char *name, struct probe_note *note)
{
	struct elf_file *file;

	assert_int_equal(elf_file_open_memory(image, size, &file), 0);
	int r = probe_note_find(file, "flamegrid", name, note);
	elf_file_close(file);
	return r;
}

static char *find_text(char *image, size_t size, const char *text)
{
	return memmem(image, size, text, strlen(text) + 1);
}

static void the_guests_probe_lies_where_its_note_says(void **state)
{
	struct probe_note note;
	size_t size;
	char *image = read_guest(&size);

	(void)state;
	assert_int_equal(find(image, size, "launch", &note), 0);
	assert_true(note.offset < size && note.semaphore_offset < size);
	assert_int_equal(note.semaphore_offset % 2, 0);
	assert_memory_equal(image + note.semaphore_offset, "\0", 2);
#if defined(__x86_64__)
	assert_memory_equal(image + note.offset, "\x0f\x1f\x44\x00\x00", 5);
	/* In one page, or the kernel leaves a breakpoint there. */
	assert_true(note.offset % 4096 <= 4096 - 5);
#endif
	free(image);
}

static void another_name_is_not_found(void **state)
{
	struct probe_note note;
	size_t size;
	char *image = read_guest(&size);

	(void)state;
	assert_int_equal(find(image, size, "launc", &note), -ENOENT);
	assert_int_equal(find(image, size, "launching", &note), -ENOENT);
	assert_int_equal(note.offset + note.semaphore_offset, 0);
	free(image);
}

/* The note's sizes and addresses stand before its owner's name: 12 bytes of head, then behind the name three
 * addresses. */
static void notes_that_make_no_sense_are_refused(void **state)
{
	struct probe_note note;
	size_t size;
	char *image = read_guest(&size), *owner = find_text(image, size, "stapsdt");
	Elf64_Nhdr *head = (Elf64_Nhdr *)(void *)(owner - sizeof(*head));
	Elf64_Nhdr whole = *head;
	uint64_t nowhere = UINT64_MAX;

	(void)state;
	head->n_descsz = UINT32_MAX;
	assert_int_equal(find(image, size, "launch", &note), -ENOEXEC);
	*head = whole;
	head->n_namesz = UINT32_MAX;
	assert_int_equal(find(image, size, "launch", &note), -ENOEXEC);
	*head = whole;
	head->n_descsz = 8;
	assert_int_not_equal(find(image, size, "launch", &note), 0);
	*head = whole;
	memcpy(owner + 8, &nowhere, sizeof(nowhere));
	assert_int_equal(find(image, size, "launch", &note), -ENOEXEC);
	free(image);
}

static void files_without_notes_have_no_probe(void **state)
{
	struct probe_note note;
	size_t size;
	char *image = read_guest(&size);

	(void)state;
	memcpy(find_text(image, size, ".note.stapsdt"), ".note.another", 13);
	assert_int_equal(find(image, size, "launch", &note), -ENOENT);
	free(image);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guests_probe_lies_where_its_note_says),
		cmocka_unit_test(another_name_is_not_found),
		cmocka_unit_test(notes_that_make_no_sense_are_refused),
		cmocka_unit_test(files_without_notes_have_no_probe),
	};

	if (argc < 2)
		return 2;
	guest = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
