#include "cubin_fixture.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_test.h"

#define NR_SECTIONS 9u

enum {
	NAMES = 1,
	STRINGS = 2,
	SYMBOLS = 3,
	TABLE = 4,
	TEXTS = 5,
	RELOCATIONS = 6,
};

static const char names[] =
	"\0.shstrtab\0.strtab\0.symtab\0.debug_line\0.debug_str\0.rela.debug_line\0"
	".text.a\0.text.b";

void fixture_byte(struct cubin_fixture *fixture, uint32_t byte)
{
	assert_true(fixture->table_size < FIXTURE_BYTES_MAX);
	fixture->table[fixture->table_size++] = (uint8_t)byte;
}

void fixture_number(struct cubin_fixture *fixture, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		fixture_byte(fixture, 0x80 | (number & 0x7f));
	fixture_byte(fixture, (uint32_t)number);
}

static void put_signed(struct cubin_fixture *fixture, int64_t number)
{
	for (; number < -64 || number > 63; number >>= 7)
		fixture_byte(fixture, 0x80 | (uint32_t)(number & 0x7f));
	fixture_byte(fixture, (uint32_t)(number & 0x7f));
}

void fixture_bytes(struct cubin_fixture *fixture, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fixture_byte(fixture, ((const uint8_t *)bytes)[i]);
}

static void put_file(struct cubin_fixture *fixture, const char *name, uint32_t directory)
{
	fixture_bytes(fixture, name, strlen(name) + 1);
	fixture_byte(fixture, directory);
	fixture_number(fixture, 1795819471); /* of its last change */
	fixture_number(fixture, 734);
}

void fixture_begin(struct cubin_fixture *fixture)
{
	static const uint8_t operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
	uint16_t version = fixture->version ? fixture->version : 2;

	fixture->unit = fixture->table_size;
	fixture_bytes(fixture, "\0\0\0\0", 4);
	fixture_bytes(fixture, &version, sizeof(version));
	fixture_bytes(fixture, "\0\0\0\0", 4);
	size_t start = fixture->table_size;
	fixture_byte(fixture, 1);
	if (version >= 4)
		fixture_byte(fixture, 1);
	fixture_bytes(fixture, "\1\xfb\x0e\x0a", 4);
	fixture_bytes(fixture, operands, sizeof(operands));
	fixture_bytes(fixture, "/src\0", 6);
	put_file(fixture, "one.cu", 1);
	put_file(fixture, "two.h", 0);
	put_file(fixture, "/abs/three.h", 1);
	fixture_byte(fixture, 0);
	fixture_byte(fixture, fixture->string_base);
	fixture_bytes(fixture, "\0\0\0", 3);
	uint32_t size = (uint32_t)(fixture->table_size - start);
	memcpy(fixture->table + start - 4, &size, sizeof(size));
}

void fixture_end(struct cubin_fixture *fixture)
{
	uint32_t size = (uint32_t)(fixture->table_size - fixture->unit - 4);

	memcpy(fixture->table + fixture->unit, &size, sizeof(size));
}

void fixture_symbol_add(struct cubin_fixture *fixture, const char *name, uint16_t section,
			uint64_t start, uint64_t size)
{
	assert_true(fixture->nr_symbols < FIXTURE_SYMBOLS_MAX);
	fixture->symbols[fixture->nr_symbols++] =
		(struct fixture_symbol){name, section, start, size};
}

void fixture_address(struct cubin_fixture *fixture, uint32_t symbol, int64_t addend)
{
	uint64_t kept = fixture->without_addends ? (uint64_t)addend : 0;
	uint32_t i = fixture->nr_relocations++;

	fixture_bytes(fixture, "\0\x09\x02", 3);
	fixture->relocations[i].at = fixture->table_size;
	fixture->relocations[i].symbol = symbol;
	fixture->relocations[i].type = 2;
	fixture->relocations[i].addend = addend;
	fixture_bytes(fixture, &kept, sizeof(kept));
}

void fixture_row(struct cubin_fixture *fixture, uint32_t bytes, int32_t lines)
{
	fixture_byte(fixture, 3);
	put_signed(fixture, lines);
	fixture_byte(fixture, 2);
	fixture_number(fixture, bytes);
	fixture_byte(fixture, 1);
}

static uint32_t number_size(uint64_t number)
{
	uint32_t size = 1;

	while (number >>= 7)
		size++;
	return size;
}

void fixture_inline(struct cubin_fixture *fixture, uint64_t caller, uint64_t name)
{
	fixture_byte(fixture, 0);
	fixture_byte(fixture, 1 + number_size(caller) + number_size(name));
	fixture_byte(fixture, 0x90);
	fixture_number(fixture, caller);
	fixture_number(fixture, name);
}

void fixture_end_sequence(struct cubin_fixture *fixture, uint32_t bytes)
{
	fixture_byte(fixture, 2);
	fixture_number(fixture, bytes);
	fixture_bytes(fixture, "\0\1\1", 3);
}

/* ---- the image */

struct writer {
	uint8_t *bytes;
	size_t size;
	Elf64_Shdr headers[NR_SECTIONS];
};

static void put_section(struct writer *writer, uint32_t index, uint32_t type, const void *bytes,
			size_t size)
{
	uint32_t name = 1;

	for (uint32_t i = 1; i < index; i++)
		name += (uint32_t)strlen(names + name) + 1;
	writer->headers[index] = (Elf64_Shdr){
		.sh_name = name, .sh_type = type, .sh_offset = writer->size, .sh_size = size};
	writer->bytes = realloc(writer->bytes, writer->size + size);
	assert_non_null(writer->bytes);
	if (size)
		memcpy(writer->bytes + writer->size, bytes, size);
	writer->size += size;
}

static void put_symbols(struct writer *writer, const struct cubin_fixture *fixture)
{
	Elf64_Sym symbols[FIXTURE_SYMBOLS_MAX + 1] = {0};
	char strings[4096] = "";
	uint32_t size = 1;

	for (uint32_t i = 0; i < fixture->nr_symbols; i++) {
		const struct fixture_symbol *symbol = &fixture->symbols[i];

		symbols[i + 1] = (Elf64_Sym){
			.st_name = size,
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = symbol->section,
			.st_value = symbol->start,
			.st_size = symbol->size,
		};
		assert_true(size + strlen(symbol->name) < sizeof(strings));
		size += (uint32_t)strlen(strcpy(strings + size, symbol->name)) + 1;
	}
	put_section(writer, STRINGS, SHT_STRTAB, strings, size);
	put_section(writer, SYMBOLS, SHT_SYMTAB, symbols,
		    (fixture->nr_symbols + 1) * sizeof(*symbols));
	writer->headers[SYMBOLS].sh_link = STRINGS;
}

static void put_relocations(struct writer *writer, const struct cubin_fixture *fixture)
{
	size_t item = fixture->without_addends ? sizeof(Elf64_Rel) : sizeof(Elf64_Rela);
	uint8_t bytes[FIXTURE_SYMBOLS_MAX * sizeof(Elf64_Rela)];

	for (uint32_t i = 0; i < fixture->nr_relocations; i++) {
		Elf64_Rela relocation = {
			.r_offset = fixture->relocations[i].at,
			.r_info = ELF64_R_INFO(fixture->relocations[i].symbol + 1ull,
					       fixture->relocations[i].type),
			.r_addend = fixture->relocations[i].addend,
		};

		memcpy(bytes + i * item, &relocation, item);
	}
	put_section(writer, RELOCATIONS, fixture->without_addends ? SHT_REL : SHT_RELA, bytes,
		    fixture->nr_relocations * item);
	writer->headers[RELOCATIONS].sh_link = SYMBOLS;
	writer->headers[RELOCATIONS].sh_info = TABLE;
}

uint8_t *fixture_image(const struct cubin_fixture *fixture, size_t *size)
{
	Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, 1, 0x41,
			    8},
		.e_type = ET_EXEC,
		.e_machine = 190,
		.e_version = 1,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = NAMES,
	};
	struct writer writer = {.bytes = malloc(sizeof(header)), .size = sizeof(header)};

	put_section(&writer, NAMES, SHT_STRTAB, names, sizeof(names));
	put_symbols(&writer, fixture);
	put_section(&writer, TABLE, SHT_PROGBITS, fixture->table, fixture->table_size);
	put_section(&writer, TEXTS, SHT_PROGBITS, fixture->strings, fixture->strings_size);
	put_relocations(&writer, fixture);
	put_section(&writer, FIXTURE_TEXT_A, SHT_PROGBITS, NULL, 0);
	put_section(&writer, FIXTURE_TEXT_B, SHT_PROGBITS, NULL, 0);
	header.e_shoff = writer.size;
	writer.bytes = realloc(writer.bytes, writer.size + sizeof(writer.headers));
	assert_non_null(writer.bytes);
	memcpy(writer.bytes, &header, sizeof(header));
	memcpy(writer.bytes + writer.size, writer.headers, sizeof(writer.headers));
	*size = writer.size + sizeof(writer.headers);
	return writer.bytes;
}

void fixture_kernel(struct cubin_fixture *fixture, uint32_t symbol, int64_t addend, int32_t line)
{
	fixture_address(fixture, symbol, addend);
	fixture_row(fixture, 0, line - 1);
	fixture_row(fixture, 16, 1);
	fixture_end_sequence(fixture, 48);
}

uint8_t *fixture_small_image(struct cubin_fixture *fixture, size_t *size)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture_symbol_add(fixture, "a", FIXTURE_TEXT_A, 0, 64);
	fixture_begin(fixture);
	fixture_kernel(fixture, 0, 0, 10);
	fixture_end(fixture);
	return fixture_image(fixture, size);
}

uint8_t *fixture_kernel_image(int32_t line, bool has_lines, uint32_t *size)
{
	static struct cubin_fixture fixture;
	size_t made;

	memset(&fixture, 0, sizeof(fixture));
	fixture_symbol_add(&fixture, "a", FIXTURE_TEXT_A, 0, 64);
	if (has_lines) {
		fixture_begin(&fixture);
		fixture_address(&fixture, 0, 0);
		fixture_row(&fixture, 0, line - 1);
		fixture_end_sequence(&fixture, 64);
		fixture_end(&fixture);
	}
	uint8_t *bytes = fixture_image(&fixture, &made);
	*size = (uint32_t)made;
	return bytes;
}
