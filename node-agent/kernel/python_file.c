#include "python_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "elf_image.h"

#include "node-agent/files/elf_file.h"
#include "python/python_eval.h"

#define FILES_MAX 32u

struct known_file {
	dev_t device;
	ino_t inode;
	struct timespec modified;
	struct python_file file;
};

struct python_files {
	struct known_file files[FILES_MAX];
	uint32_t nr, next; /* next: the entry to be replaced next */
};

struct python_files *python_files_create(void)
{
	return calloc(1, sizeof(struct python_files));
}

void python_files_destroy(struct python_files *files)
{
	free(files);
}

void python_files_copy(struct python_files *to, const struct python_files *from)
{
	*to = *from;
}

/* ---- names --------------------------------------------------------------------------------------- */

static size_t base_of(const char *path, size_t path_size)
{
	size_t base = path_size;

	while (base > 0 && path[base - 1] != '/')
		base--;
	return base;
}

/* Reads the minor version from names such as libpython3.11.so.1.0 and python3.11. Returns -1 for other names. */
static int minor_by_name(const char *path, size_t path_size)
{
	char name[64];
	size_t base = base_of(path, path_size);
	int minor;

	snprintf(name, sizeof(name), "%.*s", (int)(path_size - base), path + base);
	const char *version = strstr(name, "python3.");
	return version && sscanf(version, "python3.%3d", &minor) == 1 ? minor : -1;
}

bool python_file_is_named(const char *path, size_t path_size)
{
	static const char library[] = "libpython3", program[] = "python";
	size_t base = base_of(path, path_size), size = path_size - base;
	const char *name = path + base;

	return (size >= sizeof(library) - 1 && memcmp(name, library, sizeof(library) - 1) == 0) ||
	       (size >= sizeof(program) - 1 && memcmp(name, program, sizeof(program) - 1) == 0);
}

/* ---- contents ------------------------------------------------------------------------------------ */

enum { RUNTIME, CODE_TYPE, STRING_TYPE, BYTES_TYPE, EVAL_FRAME, VERSION, DEBUG_BUILD, SYMBOLS };

static const char *const symbols[SYMBOLS] = {
	[RUNTIME] = "_PyRuntime",
	[CODE_TYPE] = "PyCode_Type",
	[STRING_TYPE] = "PyUnicode_Type",
	[BYTES_TYPE] = "PyBytes_Type",
	[EVAL_FRAME] = "_PyEval_EvalFrameDefault",
	[VERSION] = "Py_Version",               /* from 3.11 on */
	[DEBUG_BUILD] = "_Py_NegativeRefcount", /* Py_REF_DEBUG (Include/object.h) */
};

static void find_loop(const struct elf_image *image, uint64_t eval_frame, struct unwind_stops *loop)
{
	const Elf64_Phdr *code = elf_image_segment(image, PT_LOAD, PF_X);
	const Elf64_Phdr *header = elf_image_segment(image, PT_GNU_EH_FRAME, 0);
	uint64_t bias = (uint64_t)(uintptr_t)image->base - image->low;

	if (!code || !header || eval_frame - code->p_vaddr >= code->p_filesz)
		return;
	const struct python_eval_file file = {
		.image = elf_image_frames(image),
		.eval_frame = bias + eval_frame,
		.code_start = bias + code->p_vaddr,
		.code_end = bias + code->p_vaddr + code->p_filesz,
		.eh_frame_hdr = bias + header->p_vaddr,
		.eh_frame_hdr_size = header->p_filesz,
	};
	python_eval_find_in(&file, loop);
	for (uint32_t i = 0; i < loop->nr; i++) {
		/* Unwind information may name any address, but these parts were found by reading their bytes. */
		loop->ranges[i].start -= bias;
		loop->ranges[i].end -= bias;
	}
}

/* Py_Version has the form of PY_VERSION_HEX. Returns -1 if the file has no such symbol. */
static int minor_by_symbol(const struct elf_image *image, uint64_t address)
{
	uint64_t version;

	if (!address || address < image->low || image->span < sizeof(version) ||
	    address - image->low > image->span - sizeof(version))
		return -1;
	memcpy(&version, image->base + (address - image->low), sizeof(version));
	return version >> 24 == 3 ? (int)(version >> 16 & 0xff) : -1;
}

static void refuse(struct python_file *file, const char *reason)
{
	size_t used = strlen(file->text);

	file->kind = PYTHON_FILE_REFUSED;
	snprintf(file->text + used, sizeof(file->text) - used, ": %s", reason);
}

static void take_version(struct python_file *file, const uint64_t *values,
			 const struct elf_image *image, int by_name)
{
	int minor = minor_by_symbol(image, values[VERSION]);
	const struct python_layout *layout;

	if (minor < 0)
		minor = by_name;
	layout = minor < 0 ? NULL : python_layout_of((unsigned)minor);
	snprintf(file->text, sizeof(file->text), minor < 0 ? "CPython" : "CPython 3.%d", minor);
	if (!layout)
		refuse(file, "not a known version");
	else if (values[DEBUG_BUILD])
		refuse(file, "debug build");
	else if (!values[CODE_TYPE] || !values[STRING_TYPE] || !values[BYTES_TYPE])
		refuse(file, "does not export its types");
	else
		file->layout = *layout;
}

static void read_file(struct python_file *file, struct elf_file *elf, int by_name)
{
	struct elf_image image = {0};
	uint64_t values[SYMBOLS];

	memset(file, 0, sizeof(*file));
	elf_file_find_exported(elf, symbols, SYMBOLS, values);
	if (!values[RUNTIME] || !values[EVAL_FRAME])
		return;
	file->kind = PYTHON_FILE_READY;
	file->runtime = values[RUNTIME];
	file->code_type = values[CODE_TYPE];
	file->string_type = values[STRING_TYPE];
	file->bytes_type = values[BYTES_TYPE];
	if (elf_file_fd(elf) >= 0 && elf_image_read(&image, elf_file_fd(elf)) &&
	    elf_image_copy(&image, elf_file_fd(elf))) {
		take_version(file, values, &image, by_name);
		find_loop(&image, values[EVAL_FRAME], &file->loop);
	} else {
		snprintf(file->text, sizeof(file->text), "CPython");
		refuse(file, "its file cannot be read");
	}
	elf_image_fini(&image);
}

/* ---- what was read before ------------------------------------------------------------------------- */

const struct python_file *python_files_get(struct python_files *files, struct elf_file *elf,
					   const char *path, size_t path_size)
{
	struct stat status = {0};
	struct known_file *known;

	fstat(elf_file_fd(elf), &status);
	for (uint32_t i = 0; i < files->nr; i++) {
		known = &files->files[i];
		if (known->device == status.st_dev && known->inode == status.st_ino &&
		    known->modified.tv_sec == status.st_mtim.tv_sec &&
		    known->modified.tv_nsec == status.st_mtim.tv_nsec)
			return &known->file;
	}
	known = &files->files[files->next];
	files->next = (files->next + 1) % FILES_MAX;
	if (files->nr < FILES_MAX)
		files->nr++;
	*known = (struct known_file){
		.device = status.st_dev, .inode = status.st_ino, .modified = status.st_mtim};
	read_file(&known->file, elf, minor_by_name(path, path_size));
	return &known->file;
}
