/* Files that may hold CPython. The last byte is the version in the file's name, if it has one. What is read of a
 * file is the same when it is read anew, and an interpreter that is taken has all that its frames need. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/kernel/python_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct python_file *file)
{
	if (memchr(file->text, '\0', sizeof(file->text)) == NULL ||
	    file->loop.nr > UNWIND_STOPS_MAX)
		abort();
	if ((file->kind == PYTHON_FILE_NONE) != (*file->text == '\0'))
		abort();
	if (file->kind == PYTHON_FILE_READY &&
	    (!file->runtime || !file->code_type || !file->string_type || !file->bytes_type ||
	     file->layout.minor == 0))
		abort();
	for (uint32_t i = 0; i < file->loop.nr; i++)
		if (file->loop.ranges[i].start >= file->loop.ranges[i].end)
			abort();
}

static void read_file(struct elf_file *elf, const char *name)
{
	struct python_files *files = python_files_create(), *others = python_files_create();

	if (!files || !others)
		abort();
	const struct python_file *file = python_files_get(files, elf, name, strlen(name));
	const struct python_file *again = python_files_get(others, elf, name, strlen(name));
	check(file);
	if (memcmp(file, again, sizeof(*file)) != 0 || python_files_get(files, elf, "", 0) != file)
		abort();
	python_files_destroy(files);
	python_files_destroy(others);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t version = size ? data[size - 1] : 0;
	uint8_t *image = malloc(size + 1); /* elf_file_open_buffer() takes it */
	struct elf_file *elf;
	char name[64];

	if (!image)
		abort();
	if (size)
		memcpy(image, data, size);
	snprintf(name, sizeof(name), version % 2 ? "/usr/lib/libpython3.%u.so.1.0" : "python%u",
		 version / 2u);
	if (!python_file_is_named(name, strlen(name)))
		abort();
	python_file_is_named((const char *)image, size);
	if (elf_file_open(fuzz_file_write(data, size), &elf) == 0)
		read_file(elf, name);
	elf_file_close(elf);
	if (elf_file_open_buffer(image, size, &elf) == 0)
		read_file(elf, name);
	elf_file_close(elf);
	return 0;
}
