/* All that is read of a hostile ELF file but its debug information: identity, places, symbols, unwind rules, where
 * its debug file is. Answers are the same when they are asked for again; places and addresses lead to one another;
 * a table of symbols keeps its own rules. */
#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_file.h"
#include "node-agent/files/content_id.h"
#include "node-agent/files/elf_file.h"
#include "node-agent/kernel/elf_image.h"
#include "node-agent/kernel/unwind_files.h"
#include "node-agent/symbols/debug_file.h"
#include "node-agent/symbols/mini_debuginfo.h"
#include "node-agent/symbols/symbol_table.h"
#include "unwind/eh_frame.h"
#include "unwind/eh_frame_header.h"
#include "unwind/unwind_pack.h"
#include "unwind/unwind_rows.h"

#define FUNCTIONS_MAX  256u
#define ADDRESSES_MAX  64u
#define ROWS_BYTES_MAX (1u << 20)
#define HEADER_BYTES   32u /* more than a header has before its table */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct functions {
	struct elf_file_function of[FUNCTIONS_MAX];
	uint32_t nr;
};

static int keep_function(void *context, const struct elf_file_function *function)
{
	struct functions *functions = context;

	if (!*function->name || function->binding > 2)
		abort();
	functions->of[functions->nr++] = *function;
	return functions->nr == FUNCTIONS_MAX ? 1 : 0;
}

static void check_places(struct elf_file *file, uint64_t where)
{
	uint64_t vaddr, offset;

	if (!elf_file_vaddr(file, where, &vaddr) && vaddr)
		abort();
	if (!elf_file_offset(file, where, &offset) && offset)
		abort();
}

static void check_identity(struct elf_file *file)
{
	static const char *const names[] = {"fixture_outer", "cuInit", "environ"};
	uint8_t build_id[64], again[64], content[CONTENT_ID_SIZE], content_again[CONTENT_ID_SIZE];
	uint32_t id_size = elf_file_build_id(file, build_id, sizeof(build_id));
	uint64_t values[3], vaddr, section_size;
	const void *section;
	size_t size;

	if (id_size > sizeof(build_id) ||
	    elf_file_build_id(file, again, sizeof(again)) != id_size ||
	    memcmp(build_id, again, id_size) != 0)
		abort();
	if (content_id_of(file, content) != content_id_of(file, content_again) ||
	    memcmp(content, content_again, sizeof(content)) != 0)
		abort();
	elf_file_find_exported(file, names, 3, values);
	elf_file_section_place(file, ".eh_frame", &vaddr, &section_size);
	elf_file_has_symtab(file);
	elf_file_has_dwarf(file);
	elf_file_dwarf_size(file);
	if (elf_file_section(file, ".text", 4096, &section, &size)) {
		if (size > 4096)
			abort();
		free(memcpy(malloc(size), section, size));
	}
}

/* What symbol_table_create() makes, symbol_table_restore() believes; it has each function's address. */
static void check_symbols(struct elf_file *file, struct elf_file *other)
{
	struct elf_file *const files[] = {file, other};
	struct symbol_table_content content, copy;
	static struct functions functions;
	struct symbol_table *table, *again;

	if (symbol_table_create(files, 2, &table) != 0)
		return;
	functions.nr = 0;
	elf_file_each_function(file, keep_function, &functions);
	for (uint32_t i = 0; i < functions.nr; i++)
		if (functions.of[i].start != UINT64_MAX && functions.of[i].name[0] != '@' &&
		    !symbol_table_find(table, functions.of[i].start))
			abort();
	symbol_table_content(table, &content);
	size_t symbols_size = content.count * sizeof(*content.symbols);
	char *memory = malloc(symbols_size + content.names_size);
	if (!memory)
		abort();
	memcpy(memory, content.symbols, symbols_size);
	memcpy(memory + symbols_size, content.names, content.names_size);
	copy = (struct symbol_table_content){
		.symbols = (const struct symbol_table_symbol *)(void *)memory,
		.names = memory + symbols_size,
		.count = content.count,
		.names_size = content.names_size,
	};
	if (symbol_table_restore(&copy, memory, &again) != 0)
		abort();
	symbol_table_destroy(again);
	symbol_table_destroy(table);
}

/* Two modules of one file: the second's rules do not come from what is remembered of the first's. They are the same,
 * since no rule depends on where a file is mapped, or on what lies beside it. */
static void check_unwind(struct elf_file *file, const uint64_t addresses[], uint32_t nr)
{
	struct unwind_files *files = unwind_files_create();

	if (!files || unwind_files_add(files, 0, unwind_file_map(file), 0, 0) != 0 ||
	    unwind_files_add(files, 1, unwind_file_map(file), 0, 0) != 0)
		abort();
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t rule = 0, again = 0;
		bool found = unwind_files_find(files, 0, addresses[i], &rule);

		if (unwind_files_find(files, 1, addresses[i], &again) != found || again != rule)
			abort();
	}
	unwind_files_destroy(files);
}

static uint32_t list_addresses(struct elf_file *file, uint64_t addresses[static ADDRESSES_MAX])
{
	static struct functions functions;
	uint64_t vaddr, size;
	uint32_t nr = 0;

	functions.nr = 0;
	elf_file_each_function(file, keep_function, &functions);
	for (uint32_t i = 0; i < functions.nr && nr < ADDRESSES_MAX / 2; i++) {
		addresses[nr++] = functions.of[i].start + functions.of[i].size / 2;
		check_places(file, functions.of[i].start);
	}
	elf_file_section_place(file, ".text", &vaddr, &size);
	for (; nr < ADDRESSES_MAX; vaddr += size / (ADDRESSES_MAX / 2) + 1)
		addresses[nr++] = vaddr;
	return nr;
}

/* Packed rows give the same rules. */
static void check_pack(const struct unwind_rows *rows)
{
	struct unwind_pack pack;

	if (rows->nr == 0 || unwind_pack_make(rows, 1, &pack) != 0)
		return;
	for (size_t i = 0; i < rows->nr; i++)
		if (unwind_pack_find(&pack, rows->rows[i].pc) != rows->rows[i].rule)
			abort();
	unwind_pack_fini(&pack);
}

/* As the guest does with a file that is loaded: the rows of all its code, in order. */
static void check_rows(const char *path)
{
	struct elf_image image = {0};
	struct eh_frame_header cut;
	struct unwind_rows rows;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	unwind_rows_init(&rows, ROWS_BYTES_MAX);
	if (elf_image_read(&image, fd) && elf_image_copy(&image, fd)) {
		const Elf64_Phdr *header = elf_image_segment(&image, PT_GNU_EH_FRAME, 0);
		const Elf64_Phdr *code = elf_image_segment(&image, PT_LOAD, PF_X);
		const struct eh_frame_image frames = elf_image_frames(&image);
		uint64_t bias = frames.bias;

		if (header && code &&
		    eh_frame_compile(&frames, bias + header->p_vaddr, header->p_filesz,
				     bias + code->p_vaddr, bias + code->p_vaddr + code->p_filesz,
				     &rows) == 0) {
			for (size_t i = 1; i < rows.nr; i++)
				if (rows.rows[i].pc <= rows.rows[i - 1].pc)
					abort();
			check_pack(&rows);
		}
		for (uint64_t size = 0; header && size < HEADER_BYTES && size < header->p_filesz;
		     size++)
			eh_frame_header_read(&cut, &frames, bias + header->p_vaddr, size);
	}
	unwind_rows_fini(&rows);
	elf_image_fini(&image);
	close(fd);
}

/* A name of a file in the fuzzer's own directory, and not the input's. */
static bool is_plain(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (!isalnum((unsigned char)name[i]) && (i == 0 || !strchr("._-", name[i])))
			return false;
	return size > 0 && !(size == 5 && memcmp(name, "input", 5) == 0);
}

static void open_debug_file(const struct debug_file_query *query)
{
	struct elf_file *debug;

	if (debug_file_open(query, &debug) == 0)
		elf_file_close(debug);
}

/* The input is its own debug file: by its build id, and by the name that it has a link to. */
static void check_debug_file(struct elf_file *file, const char *path, const uint8_t *data,
			     size_t size)
{
	uint8_t build_id[32];
	char name[128], folder[128];
	struct debug_file_query query = {.file = file,
					 .path = path,
					 .user = geteuid(),
					 .directory = fuzz_file_directory(),
					 .build_id = build_id};
	const void *link;
	size_t link_size;

	query.build_id_size = elf_file_build_id(file, build_id, sizeof(build_id));
	if (query.build_id_size > 1) {
		size_t used = (size_t)snprintf(name, sizeof(name), ".build-id/%02x/", build_id[0]);

		for (uint32_t i = 1; i < query.build_id_size; i++)
			used += (size_t)snprintf(name + used, sizeof(name) - used, "%02x",
						 build_id[i]);
		snprintf(name + used, sizeof(name) - used, ".debug");
		snprintf(folder, sizeof(folder), "%s/.build-id", fuzz_file_directory());
		mkdir(folder, 0700);
		snprintf(folder, sizeof(folder), "%s/%.12s", fuzz_file_directory(), name);
		mkdir(folder, 0700);
		fuzz_file_write_named(name, data, size);
		open_debug_file(&query);
		fuzz_file_remove_named(name);
		rmdir(folder);
		snprintf(folder, sizeof(folder), "%s/.build-id", fuzz_file_directory());
		rmdir(folder);
	}
	if (elf_file_section(file, ".gnu_debuglink", 64, &link, &link_size) &&
	    is_plain(link, strnlen(link, link_size))) {
		snprintf(name, sizeof(name), "%.*s", (int)strnlen(link, link_size),
			 (const char *)link);
		fuzz_file_write_named(name, data, size);
		open_debug_file(&query);
		query.build_id_size = 0;
		open_debug_file(&query);
		fuzz_file_remove_named(name);
	}
	open_debug_file(&query);
}

/* path NULL: the file is in memory alone. */
static void read_all(struct elf_file *file, const char *path, const uint8_t *data, size_t size)
{
	uint64_t addresses[ADDRESSES_MAX];
	struct elf_file *mini;

	check_identity(file);
	if (mini_debuginfo_open(file, &mini) == 0)
		check_identity(mini);
	check_symbols(file, mini);
	check_unwind(file, addresses, list_addresses(file, addresses));
	if (path) {
		check_rows(path);
		check_debug_file(file, path, data, size);
	}
	elf_file_close(mini);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file_write(data, size);
	uint8_t *image = malloc(size ? size : 1);
	struct elf_file *file;

	if (!image)
		abort();
	memcpy(image, data, size);
	if (elf_file_open(path, &file) == 0)
		read_all(file, path, data, size);
	elf_file_close(file);
	if (elf_file_open_buffer(image, size, &file) == 0)
		read_all(file, NULL, data, size);
	elf_file_close(file);
	return 0;
}
