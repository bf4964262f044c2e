#include "import_slots.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define RELOCATION_JUMP R_X86_64_JUMP_SLOT
#define RELOCATION_DATA R_X86_64_GLOB_DAT
#define RELOCATION_TLS  R_X86_64_DTPMOD64
#elif defined(__aarch64__)
#define RELOCATION_JUMP R_AARCH64_JUMP_SLOT
#define RELOCATION_DATA R_AARCH64_GLOB_DAT
#define RELOCATION_TLS  R_AARCH64_TLS_DTPMOD
#else
#define RELOCATION_JUMP UINT32_MAX /* no other machine is supported: nothing is found */
#define RELOCATION_DATA UINT32_MAX
#define RELOCATION_TLS  UINT32_MAX
#endif

/* Tables that the dynamic section names, as addresses that lie within a segment; NULL and 0: the table is missing. */
struct tables {
	const ElfW(Dyn) * dynamic;
	size_t nr_dynamic;
	const char *strings;
	size_t strings_size;
	const ElfW(Sym) * symbols;
	size_t nr_symbols; /* as many as there is room for */
	const ElfW(Rela) * jumps, *data;
	size_t nr_jumps, nr_data;
};

/* Returns how many bytes of a segment with these flags begin at address. */
static size_t room_at(const struct dl_phdr_info *object, uintptr_t address, uint32_t flags)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + header->p_vaddr;

		if (header->p_type == PT_LOAD && (header->p_flags & flags) == flags &&
		    address >= start && address - start < header->p_memsz)
			return header->p_memsz - (address - start);
	}
	return 0;
}

/* Returns an address that the dynamic section names. Some loaders have added the object's base to it. NULL: it is
 * outside of the object. */
static const void *table_at(const struct dl_phdr_info *object, uintptr_t value, size_t size)
{
	uintptr_t address = value;

	if (room_at(object, address, PF_R) == 0)
		address += object->dlpi_addr;
	if (size == 0 || room_at(object, address, PF_R) < size || address % sizeof(void *) != 0)
		return NULL;
	return (const void *)address;
}

static bool find_dynamic(const struct dl_phdr_info *object, struct tables *tables)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uintptr_t address = object->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_DYNAMIC || address % sizeof(void *) != 0 ||
		    room_at(object, address, PF_R) < header->p_memsz)
			continue;
		tables->dynamic = (const void *)address;
		tables->nr_dynamic = header->p_memsz / sizeof(ElfW(Dyn));
		for (size_t nr = 0; nr < tables->nr_dynamic; nr++)
			if (tables->dynamic[nr].d_tag == DT_NULL)
				tables->nr_dynamic = nr;
		return true;
	}
	return false;
}

static uintptr_t dynamic_value(const struct tables *tables, ElfW(Sxword) tag)
{
	for (size_t i = 0; i < tables->nr_dynamic; i++)
		if (tables->dynamic[i].d_tag == tag)
			return tables->dynamic[i].d_un.d_val;
	return 0;
}

static bool find_strings(const struct dl_phdr_info *object, struct tables *tables)
{
	uintptr_t value = dynamic_value(tables, DT_STRTAB);
	uintptr_t address = room_at(object, value, PF_R) ? value : value + object->dlpi_addr;
	size_t size = dynamic_value(tables, DT_STRSZ);

	if (size == 0 || room_at(object, address, PF_R) < size)
		return false;
	tables->strings = (const char *)address;
	tables->strings_size = size;
	return true;
}

static bool is_string(const struct tables *tables, size_t at, const char *text, size_t size)
{
	return at < tables->strings_size && tables->strings_size - at >= size &&
	       memcmp(tables->strings + at, text, size) == 0;
}

static const ElfW(Rela) * find_relocations(const struct dl_phdr_info *object,
					   const struct tables *tables, ElfW(Sxword) tag,
					   ElfW(Sxword) size_tag, size_t *nr)
{
	size_t size = dynamic_value(tables, size_tag);
	const void *address = table_at(object, dynamic_value(tables, tag), size);

	*nr = address ? size / sizeof(ElfW(Rela)) : 0;
	return address;
}

static bool find_tables(const struct dl_phdr_info *object, struct tables *tables)
{
	if (!find_dynamic(object, tables) || !find_strings(object, tables))
		return false;
	tables->symbols = table_at(object, dynamic_value(tables, DT_SYMTAB), sizeof(ElfW(Sym)));
	if (!tables->symbols)
		return false;
	tables->nr_symbols = room_at(object, (uintptr_t)tables->symbols, PF_R) / sizeof(ElfW(Sym));
	if (dynamic_value(tables, DT_PLTREL) == DT_RELA)
		tables->jumps =
			find_relocations(object, tables, DT_JMPREL, DT_PLTRELSZ, &tables->nr_jumps);
	tables->data = find_relocations(object, tables, DT_RELA, DT_RELASZ, &tables->nr_data);
	return true;
}

bool import_slots_needs(const struct dl_phdr_info *object, const char *library)
{
	struct tables tables = {0};

	if (!find_dynamic(object, &tables) || !find_strings(object, &tables))
		return false;
	for (size_t i = 0; i < tables.nr_dynamic; i++)
		if (tables.dynamic[i].d_tag == DT_NEEDED &&
		    is_string(&tables, tables.dynamic[i].d_un.d_val, library, strlen(library)))
			return true;
	return false;
}

/* ---- thread-local variables */

static uint32_t gnu_hash(const char *symbol)
{
	uint32_t hash = 5381;

	for (; *symbol; symbol++)
		hash = hash * 33 + (uint8_t)*symbol;
	return hash;
}

/* Returns the index of a symbol that the object defines; 0: it does not, or has no such table. */
static uint32_t defined_symbol(const struct dl_phdr_info *object, const struct tables *tables,
			       const char *symbol)
{
	const uint32_t hash = gnu_hash(symbol);
	const uint32_t *head = table_at(object, dynamic_value(tables, DT_GNU_HASH), 16);
	const size_t room = head ? room_at(object, (uintptr_t)head, PF_R) : 0;

	if (!head || !head[0] || !head[2] ||
	    room < 16 + 8ull * head[2] + 4ull * head[0]) /* buckets, words of the filter */
		return 0;
	const uint64_t *filter = (const uint64_t *)(head + 4);
	const uint32_t *buckets = (const uint32_t *)(filter + head[2]);
	const uint32_t *chains = buckets + head[0];
	const uint64_t bits = 1ull << hash % 64 | 1ull << (hash >> head[3] % 32) % 64;
	if ((filter[hash / 64 % head[2]] & bits) != bits)
		return 0;
	for (uint32_t i = buckets[hash % head[0]]; i >= head[1] && i && i < tables->nr_symbols;
	     i++) {
		const uint32_t *chain = &chains[i - head[1]];

		if ((size_t)((const char *)(chain + 1) - (const char *)head) > room)
			return 0;
		if ((*chain | 1) == (hash | 1) && tables->symbols[i].st_shndx != SHN_UNDEF &&
		    is_string(tables, tables->symbols[i].st_name, symbol, strlen(symbol) + 1))
			return i;
		if (*chain & 1)
			return 0;
	}
	return 0;
}

const struct import_slots_variable *import_slots_variable(const struct dl_phdr_info *object,
							  const char *symbol)
{
	struct tables tables = {0};
	uint32_t index;

	if (!find_tables(object, &tables))
		return NULL;
	index = defined_symbol(object, &tables, symbol);
	for (size_t i = 0; index && i < tables.nr_data; i++) {
		uintptr_t address = object->dlpi_addr + tables.data[i].r_offset;

		if (ELF64_R_TYPE(tables.data[i].r_info) == RELOCATION_TLS &&
		    ELF64_R_SYM(tables.data[i].r_info) == index &&
		    room_at(object, address, PF_R) >= sizeof(struct import_slots_variable) &&
		    address % sizeof(uint64_t) == 0)
			return (const void *)address;
	}
	return NULL;
}

/* ---- pages */

/* Finds the protection of the mapping that holds the address (PROT_...), from lines "start-end rwxp ..."; -errno. */
struct maps_line {
	uintptr_t ends[2];
	uint32_t nr_ends; /* read */
	int protection;
	uint32_t nr_flags;
};

static void read_maps_character(struct maps_line *line, char c)
{
	static const struct {
		char letter;
		int protection;
	} flags[] = {{'r', PROT_READ}, {'w', PROT_WRITE}, {'x', PROT_EXEC}};

	if (line->nr_ends < 2) {
		if (c == '-' || c == ' ')
			line->nr_ends++;
		else
			line->ends[line->nr_ends] = line->ends[line->nr_ends] * 16 +
						    (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	} else if (line->nr_flags < 3) {
		if (c == flags[line->nr_flags].letter)
			line->protection |= flags[line->nr_flags].protection;
		line->nr_flags++;
	}
}

static int protection_of(uintptr_t address)
{
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct maps_line line = {0};
	int protection = -ENOENT;
	char text[1024]; /* small, because the caller's thread may have a tiny stack */
	ssize_t size;

	if (file < 0)
		return -errno;
	while (protection == -ENOENT && (size = read(file, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < size; i++) {
			if (text[i] != '\n') {
				read_maps_character(&line, text[i]);
				continue;
			}
			if (address >= line.ends[0] && address < line.ends[1])
				protection = line.protection;
			line = (struct maps_line){0};
		}
	close(file);
	return protection;
}

/* Returns whether the loader makes this page read-only once it has finished with the object. */
static bool is_protected_later(const struct dl_phdr_info *object, uintptr_t address,
			       uintptr_t page_size)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + header->p_vaddr;
		uintptr_t end = start + header->p_memsz;

		if (header->p_type == PT_GNU_RELRO && address >= (start & ~(page_size - 1)) &&
		    address < (end & ~(page_size - 1)))
			return true;
	}
	return false;
}

/* ---- slots */

struct pass {
	const struct dl_phdr_info *object;
	struct tables tables;
	const struct import_slot *slots;
	size_t nr_slots;
	bool unbound;
	struct import_slots_result *result;
};

static void write_slot(struct pass *pass, uintptr_t address, void *to, int protection)
{
	uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *page = (void *)(address & ~(page_size - 1));

	if (!(protection & PROT_WRITE) && mprotect(page, page_size, protection | PROT_WRITE) != 0) {
		pass->result->error = -errno;
		return;
	}
	atomic_store((_Atomic(void *) *)address, to);
	if (!(protection & PROT_WRITE))
		mprotect(page, page_size, protection);
	pass->result->nr_set++;
}

static void set_slot(struct pass *pass, uintptr_t address, const struct import_slot *slot)
{
	uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *value = atomic_load((_Atomic(void *) *)address);
	int protection = PROT_READ | PROT_WRITE;

	if (value == slot->to) {
		pass->result->nr_set++;
		return;
	}
	if (is_protected_later(pass->object, address, page_size)) {
		protection = protection_of(address);
		if (protection < 0) {
			pass->result->error = protection;
			return;
		}
		/* The loader may still write there. If the page became read-only now, it would crash. */
		if (protection & PROT_WRITE) {
			pass->result->nr_pending++;
			return;
		}
	}
	if (value == slot->from)
		write_slot(pass, address, slot->to, protection);
	else if (room_at(pass->object, (uintptr_t)value, PF_X) > 0) {
		if (pass->unbound)
			write_slot(pass, address, slot->to, protection);
	} else if ((uintptr_t)value < pass->object->dlpi_addr) {
		pass->result->nr_pending++; /* as in the file: not even relocated */
	}
}

static void visit(struct pass *pass, const ElfW(Rela) * relocation)
{
	const struct tables *tables = &pass->tables;
	uint32_t type = ELF64_R_TYPE(relocation->r_info);
	size_t index = ELF64_R_SYM(relocation->r_info);
	uintptr_t address = pass->object->dlpi_addr + relocation->r_offset;

	if ((type != RELOCATION_JUMP && type != RELOCATION_DATA) || index == 0 ||
	    index >= tables->nr_symbols || tables->symbols[index].st_shndx != SHN_UNDEF)
		return;
	for (size_t i = 0; i < pass->nr_slots; i++) {
		const struct import_slot *slot = &pass->slots[i];

		if (slot->from &&
		    is_string(tables, tables->symbols[index].st_name, slot->symbol,
			      strlen(slot->symbol) + 1) &&
		    address % sizeof(void *) == 0 &&
		    room_at(pass->object, address, PF_R | PF_W) >= sizeof(void *)) {
			set_slot(pass, address, slot);
			return;
		}
	}
}

void import_slots_set(const struct dl_phdr_info *object, const struct import_slot *slots,
		      size_t nr_slots, bool unbound, struct import_slots_result *result)
{
	struct pass pass = {
		.object = object,
		.slots = slots,
		.nr_slots = nr_slots,
		.unbound = unbound,
		.result = result,
	};

	if (!find_tables(object, &pass.tables))
		return;
	for (size_t i = 0; i < pass.tables.nr_jumps; i++)
		visit(&pass, &pass.tables.jumps[i]);
	for (size_t i = 0; i < pass.tables.nr_data; i++)
		visit(&pass, &pass.tables.data[i]);
}
